// Whoever publishes speaks in ContentModel's values; one import must do.
@_exported public import ContentModel
