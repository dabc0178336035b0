"""HINCRBY on a missing field stores the increment."""


def test_a_field_that_is_made_of_a_long_number(module_factory):
    server = module_factory(redis=True)
    with server.resp() as client:
        for number in ("-9223372036854775808", "1234567890123456789", "7"):
            key = f"h{number}"
            assert client.ask("HINCRBY", key, "f", number) == int(number)
            assert client.ask("HGET", key, "f") == number.encode()
        assert client.ask("HINCRBYFLOAT", "x", "f", "0.12345678901234567") == b"0.12345678901234567"
        assert client.ask("HGET", "x", "f") == b"0.12345678901234567"
    server.assert_alive()
