"""What a page shows, as files: tables as CSV and Parquet, plots as SVG."""
