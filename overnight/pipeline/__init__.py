"""Pipeline templates: compiled into KFP's specification, published to Artifact Registry, named by digest."""
