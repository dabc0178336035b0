"""How Java's programs are run: they live for seconds, so that half of their time went into compiling them well."""

JAVA = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
