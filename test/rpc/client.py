"""A client for zot's protocol that needs nothing but Python's standard library.

usage: client.py <prompt> <command> [flags…]

Starts the command, sends one prompt, prints the answer as it streams, and what tools do on stderr; ends with done.
"""

import json
import os
import subprocess
import sys


class Client:
    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr, text=True, bufsize=1
        )
        self.sent = 0

    def send(self, **command):
        self.sent += 1
        self.process.stdin.write(json.dumps({"id": str(self.sent), **command}) + "\n")
        self.process.stdin.flush()
        return str(self.sent)

    def frames(self):
        for line in self.process.stdout:
            if line.strip():
                yield json.loads(line)

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=20)


def main():
    prompt, *command = sys.argv[1:]
    client = Client(command)
    failed = False
    token = os.environ.get("ZOTCORE_RPC_TOKEN")
    if token:
        client.send(type="hello", token=token)
    client.send(type="prompt", message=prompt)
    for frame in client.frames():
        kind = frame["type"]
        if kind == "text_delta":
            print(frame["delta"], end="", flush=True)
        elif kind == "tool_call":
            print(f"[tool] {frame['name']}({json.dumps(frame['args'])})", file=sys.stderr)
        elif kind == "tool_result" and frame["is_error"]:
            print("[tool error]", file=sys.stderr)
        elif kind == "usage":
            total = frame["cumulative"]
            print(f"[usage] {total['input']} in, {total['output']} out, ${total['cost_usd']:.4f}", file=sys.stderr)
        elif kind == "error":
            print(f"[error] {frame['message']}", file=sys.stderr)
            failed = True
            break
        elif kind == "done":
            break
    print()
    ended = client.close()
    return 1 if failed else ended


if __name__ == "__main__":
    sys.exit(main())
