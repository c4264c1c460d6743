"""Sources of offers, one file each; each is a plug-in of the group `importers` (see `offers.importing.Importer`)."""
