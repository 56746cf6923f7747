// Tests use queues and publishing; one import is enough.
@_exported public import ContentStore
@_exported public import HostedContent
