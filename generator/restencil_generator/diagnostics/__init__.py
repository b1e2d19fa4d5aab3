"""Problems found in specs: their model, codes, explanations and output formats."""
