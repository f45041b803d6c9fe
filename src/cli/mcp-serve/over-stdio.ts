import type { Writable } from 'node:stream'
import type { McpServeValues } from '../commands/mcp-serve.ts'
import type { Io } from '../io.ts'
import { openFace } from './open-face.ts'
import { untilStopped } from './until-stopped.ts'

/** Serves the client at the other end of stdin and stdout, with stdout taken, until it goes. */
export async function overStdio(values: McpServeValues, io: Io, frames: Writable): Promise<number> {
  const face = await openFace(values, io)
  return untilStopped(io, async (signal) => {
    try {
      await face.serveStdio({ input: io.stdin, output: frames, signal })
    } finally {
      await face.close()
    }
  })
}
