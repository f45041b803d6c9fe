import type { Writable } from 'node:stream'
import { loadSdk } from '../../acp/load-sdk.ts'
import { serveAcp } from '../../acp/serve-acp.ts'
import { messageOf } from '../../core/errors.ts'
import { CliError } from '../cli-error.ts'
import type { AcpValues } from '../commands/acp.ts'
import { checkWritten } from '../failures/output-failure.ts'
import type { Io } from '../io.ts'
import { untilStopped } from '../until-stopped.ts'
import { createEditorHost } from './editor-host.ts'

/** `libero acp`, with stdout reserved for messages. Errors before the first message are thrown. */
export async function acp(values: AcpValues, io: Io, output: Writable): Promise<number> {
  await loadSdk().catch((cause) => {
    throw new CliError(messageOf(cause), undefined, { cause })
  })
  const host = await createEditorHost(values, io)
  try {
    return await untilStopped(io, async (signal) => {
      await serveAcp({ host, input: io.stdin as AsyncIterable<Uint8Array>, output, signal })
      checkWritten(output)
    })
  } finally {
    await host.close()
  }
}
