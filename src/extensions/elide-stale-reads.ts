import type { Extension } from '../core/run.ts'
import type { TouchedFile } from '../core/tool.ts'
import { toolOutputByteLength } from '../core/tool-output.ts'
import type { Message, ToolResultBlock } from '../core/turn.ts'

/**
 * `behavior.elideStaleReads`: the content of a file leaves the request once a later call has changed or read the file.
 * The session keeps it.
 */
export function elideStaleReads(): Extension {
  const kept = new WeakMap<Message, { stale: string; message: Message }>()
  return {
    name: 'elide-stale-reads',
    start(run, hooks) {
      if (!run.settings.behavior.elideStaleReads) return
      hooks.hook('request:prepare', (request) => {
        const { touched } = run.log.transcript
        const stale = staleReads(touched, request.messages)
        if (stale.size > 0) request.messages = request.messages.map((message) => without(message, stale))
      })
    },
  }

  /** The same object for the same message each time, so that the provider's cached prefix stays valid. */
  function without(message: Message, stale: ReadonlyMap<string, TouchedFile>): Message {
    const old = message.content.filter((block) => block.type === 'tool_result' && stale.has(block.callId))
    if (old.length === 0) return message
    const which = old.map((block) => (block as ToolResultBlock).callId).join(' ')
    const known = kept.get(message)
    if (known?.stale === which) return known.message
    const content = message.content.map((block) =>
      block.type === 'tool_result' && stale.has(block.callId) ? stubbed(block, stale.get(block.callId)!) : block,
    )
    const shorter = { ...message, content }
    kept.set(message, { stale: which, message: shorter })
    return shorter
  }
}

function stubbed(block: ToolResultBlock, { path }: TouchedFile): ToolResultBlock {
  const stub = `[What was read of "${path}" is left out: a later call changed it or read it again.]`
  return toolOutputByteLength(block.output) > stub.length ? { ...block, output: stub } : block
}

/** Reads that a later call on the same file has superseded. */
function staleReads(
  touched: ReadonlyMap<string, TouchedFile>,
  messages: readonly Message[],
): ReadonlyMap<string, TouchedFile> {
  const stale = new Map<string, TouchedFile>()
  const live = new Map<string, Map<string, TouchedFile>>()
  const bytes = sizes(messages)
  for (const [callId, file] of touched) {
    const reads = live.get(file.key) ?? new Map<string, TouchedFile>()
    for (const [earlier, read] of reads) {
      if (!isSuperseded(read, file) || isShorter(bytes, callId, earlier, file)) continue
      stale.set(earlier, read)
      reads.delete(earlier)
    }
    if (file.access === 'read') live.set(file.key, reads.set(callId, file))
  }
  return stale
}

const isSuperseded = (read: TouchedFile, later: TouchedFile): boolean =>
  later.digest !== read.digest || (later.access === 'read' && later.slice === read.slice)

/** A second read whose result only refers to the first one must not replace it. */
function isShorter(bytes: ReadonlyMap<string, number>, callId: string, earlier: string, later: TouchedFile): boolean {
  return later.access === 'read' && (bytes.get(callId) ?? 0) < (bytes.get(earlier) ?? 0)
}

function sizes(messages: readonly Message[]): Map<string, number> {
  const bytes = new Map<string, number>()
  for (const { content } of messages)
    for (const block of content)
      if (block.type === 'tool_result') bytes.set(block.callId, toolOutputByteLength(block.output))
  return bytes
}
