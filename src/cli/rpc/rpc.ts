import type { Writable } from 'node:stream'
import type { RpcValues } from '../commands/rpc.ts'
import type { Io } from '../io.ts'
import { type Closing, openHost } from './open-host.ts'
import { serve } from './serve.ts'

/** `libero rpc`, with stdout taken. Whatever can go wrong before the first frame is thrown. */
export async function rpc(values: RpcValues, io: Io, frames: Writable): Promise<number> {
  const closing: Closing = []
  try {
    const host = await openHost(values, io, closing)
    return await serve({ host, frames, io })
  } finally {
    for (const close of closing.reverse()) await close()
  }
}
