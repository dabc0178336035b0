"""How Java programs are run: they live for seconds, and would spend half of that on optimizing compilation."""

JAVA = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
