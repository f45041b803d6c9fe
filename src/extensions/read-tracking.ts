import type { HookContexts } from '../core/hook-map.ts'
import type { Log } from '../core/log.ts'
import type { Extension, Run } from '../core/run.ts'
import { cutText } from '../core/text.ts'
import type { TouchedFile } from '../core/tool.ts'
import type { Message, ToolOutput, ToolResultContent } from '../core/turn.ts'
import { contentIdOf } from '../platform/digest.ts'
import { withFile } from '../platform/files-of.ts'

/** The files that calls have read or changed, in their order. */
type Touches = ReadonlyMap<string, TouchedFile>

/** The touches that a conversation shares with its parent and its children. */
const sharedBy = new WeakMap<Log, Touches[]>()

/**
 * `behavior.dedupReads` and `requireReadBeforeEdit`. Reads and writes are in the log, so there is no state here, and an
 * agent knows its files after a restart.
 */
export function readTracking(): Extension {
  return {
    name: 'read-tracking',
    start(run, hooks) {
      const { dedupReads, requireReadBeforeEdit } = run.settings.behavior
      hooks.hook('spawn:before', ({ log, shareReadState }) => {
        if (shareReadState) share(run.log, log)
      })
      if (requireReadBeforeEdit) {
        hooks.hook('tool:gate', (gate) => (gate.result === undefined ? refuseUnread(run, gate) : undefined))
        // A person is not asked about a call that would be refused afterwards.
        hooks.hook('approval:before', (asked) => refuseUnread(run, asked))
      }
      if (!dedupReads) return
      let sent: readonly Message[] = []
      hooks.hook('turn:before', ({ options }) => {
        sent = options.messages
      })
      // The shortened request may lack any of them.
      hooks.hook('request:overflow', () => {
        sent = []
      })
      hooks.hook('tool:transform', (ctx) => {
        if (!ctx.isError && isKnown(run, ctx, sent)) ctx.result = unchanged(ctx)
      })
    },
  }
}

function share(parent: Log, child: Log): void {
  const touches = sharedBy.get(parent) ?? []
  touches.push(child.transcript.touched)
  sharedBy.set(parent, touches)
  sharedBy.set(child, [...(sharedBy.get(child) ?? []), parent.transcript.touched])
}

/** An edit needs a file that was read in its present state. A write may replace an unread file, but not one that changed since it was read. */
async function refuseUnread(run: Run, gate: HookContexts['tool:gate' | 'approval:before']): Promise<void> {
  if (gate.block) return
  for (const { path, access } of run.tools.get(gate.name)?.touches?.(gate.input) ?? []) {
    if (access !== 'edit' && access !== 'write') continue
    const now = await digestAt(run, path)
    if (!now) continue // there is no such file, or the tool reports the problem itself
    const latest = allTouches(run.log).map((touches) => latestOf(touches, now.key))
    if (latest.some((touch) => touch?.file.digest === now.digest)) continue
    const seen = latest.find((touch) => touch !== undefined)
    if (!seen && access === 'write') continue
    gate.block = true
    gate.reason = seen
      ? `"${path}" has changed since it was read; read it again.${await shortDrift(run, path, resultOf(run.log.transcript.turns, seen.callId))}`
      : `"${path}" must be read before it is edited; read it first.`
  }
}

const allTouches = (log: Log): Touches[] => [log.transcript.touched, ...(sharedBy.get(log) ?? [])]

function latestOf(touches: Touches, key: string): { callId: string; file: TouchedFile } | undefined {
  let latest: { callId: string; file: TouchedFile } | undefined
  for (const [callId, file] of touches) if (file.key === key) latest = { callId, file }
  return latest
}

async function digestAt(
  { host: { execution, handle } }: Run,
  path: string,
): Promise<{ key: string; digest: string } | undefined> {
  if (!execution || !handle) return undefined
  try {
    return await withFile({ execution, handle }, path, async (file) => ({
      key: file.info.key,
      digest: await contentIdOf(file),
    }))
  } catch {
    return undefined
  }
}

/** Whether the request still contains the same part of the same content. */
function isKnown(run: Run, ctx: HookContexts['tool:transform'], sent: readonly Message[]): boolean {
  const { callId, details, original } = ctx
  const read = (details as { file?: TouchedFile } | undefined)?.file
  if (read?.access !== 'read' || read.slice === undefined) return false
  const { touched } = run.log.transcript
  for (const [earlier, file] of touched) {
    if (earlier === callId || file.access !== 'read') continue
    if (file.key !== read.key || file.digest !== read.digest || file.slice !== read.slice) continue
    const shown = resultOf(sent, earlier)
    if (shown !== undefined && isSame(shown, original)) return true
  }
  return false
}

function resultOf(messages: readonly Message[], callId: string): ToolOutput | undefined {
  for (let i = messages.length - 1; i >= 0; i--)
    for (const block of messages[i]!.content)
      if (block.type === 'tool_result' && block.callId === callId) return block.output
  return undefined
}

/** A stub, or a result that a handler changed, is not the content that was read. */
function isSame(shown: ToolOutput, original: ToolOutput): boolean {
  if (typeof shown === 'string' || typeof original === 'string') return shown === original
  return shown.length === original.length && shown.every((part, i) => contentOf(part) === contentOf(original[i]!))
}

const contentOf = (part: ToolResultContent): string => (part.type === 'text' ? part.text : part.data)

function unchanged({ details, original }: HookContexts['tool:transform']): ToolOutput {
  const { path } = (details as { file: TouchedFile }).file
  const stub = `[Unchanged since it was read above: "${path}", the same part, the same content.]`
  return typeof original === 'string' && original.length <= stub.length ? original : stub
}

const mostLines = 8
const longest = 160

/** The first lines that differ from what was read, if the old text has line numbers; else an empty text. */
export async function shortDrift(
  { host: { execution, handle } }: Run,
  path: string,
  read: ToolOutput | undefined,
): Promise<string> {
  if (typeof read !== 'string' || !execution || !handle) return ''
  const now = (await execution.readFile(handle, path).catch(() => '')).split(/\r\n|\n/)
  const changes: string[] = []
  for (const line of read.split('\n')) {
    const [, number, before] = /^ *(\d+)\t(.*)$/.exec(line) ?? []
    if (number === undefined || before === undefined) continue
    const after = now[Number(number) - 1]
    if (after === before) continue
    changes.push(`-${number} ${cut(before)}`, ...(after === undefined ? [] : [`+${number} ${cut(after)}`]))
    if (changes.length >= mostLines) break
  }
  return changes.length > 0 ? ` It differs from line ${/\d+/.exec(changes[0]!)?.[0]} on:\n${changes.join('\n')}` : ''
}

const cut = (line: string): string => cutText(line, longest)
