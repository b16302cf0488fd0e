"""What Slack does, with Slack's own library.

slack.py sign SECRET TIMESTAMP   prints the signature of the body on standard input
slack.py check                   refuses messages (a list of JSON, on standard input) that Slack would not show
"""

import json
import sys

from slack_sdk.models.blocks import ActionsBlock, Block, SectionBlock
from slack_sdk.signature import SignatureVerifier


def sign(secret, timestamp):
    body = sys.stdin.read()
    signature = SignatureVerifier(secret).generate_signature(timestamp=timestamp, body=body)
    print(signature)


def check():
    messages = json.load(sys.stdin)
    assert messages, "there is nothing to check"
    for message in messages:
        kind = message.get("response_type")
        assert kind in ("ephemeral", "in_channel") or message.get("replace_original") is True, message
        assert message["text"], message
        blocks = Block.parse_all(message["blocks"])
        assert len(blocks) == len(message["blocks"]), f"a block was not understood: {message}"
        for block, written in zip(blocks, message["blocks"]):
            assert isinstance(block, (SectionBlock, ActionsBlock)), block
            block.validate_json()
            # What the library understood is all that was said.
            assert block.to_dict() == written, (block.to_dict(), written)


if __name__ == "__main__":
    {"sign": sign, "check": check}[sys.argv[1]](*sys.argv[2:])
