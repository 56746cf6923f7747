// Users of AppUpdate need ContentModel's error; one import is enough.
@_exported public import func Concurrency.performBlocking
@_exported public import ContentModel
