<?php

/** A connection or an index that could not be made, or an argument that cannot be sent. */
class HandlerSocketException extends Exception
{
}
