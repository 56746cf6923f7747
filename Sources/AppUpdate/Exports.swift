// Whoever links AppUpdate reads ContentModel's error; one import must do.
@_exported public import ContentModel
