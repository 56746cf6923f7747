// A test speaks of queues and of what is published; one import must do.
@_exported public import ContentStore
@_exported public import HostedContent
