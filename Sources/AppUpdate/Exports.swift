// Users of AppUpdate need HostedModel's error; one import is enough.
@_exported public import func HostedConcurrency.performBlocking
@_exported public import HostedModel
