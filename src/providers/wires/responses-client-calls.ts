import type { RawItem } from './responses-reply.ts'

/** What the client is asked to run: a tool by this name, with this input. */
export interface ClientCall {
  readonly name: string
  readonly input: object
}

/**
 * Items by which OpenAI's own tools are called that run at the client: a patch, a shell, a screen, a search for tools.
 * They become calls like any other, with the names and inputs that the AI SDK gives them, and go back as such: a result
 * could not tell which kind of output it has to be.
 */
export function clientCalls(items: readonly RawItem[]): ReadonlyMap<RawItem, ClientCall> {
  const answered = new Set(items.flatMap(({ type, call_id }) => (String(type).endsWith('_output') ? [call_id] : [])))
  const calls = new Map<RawItem, ClientCall>()
  for (const item of items) {
    // Without an id there is no way to answer; with an answer nobody waits for another.
    if (typeof item.call_id !== 'string' || answered.has(item.call_id)) continue
    const call = readers.get(item.type)?.(item)
    if (call) calls.set(item, call)
  }
  return calls
}

const readers: ReadonlyMap<string, (item: RawItem) => ClientCall | undefined> = new Map([
  ['apply_patch_call', readPatch],
  ['local_shell_call', readLocalShell],
  ['shell_call', readShell],
  ['computer_call', readComputer],
  ['tool_search_call', readToolSearch],
])

function readPatch({ call_id, operation, status }: RawItem): ClientCall | undefined {
  return status === 'completed' ? { name: 'apply_patch', input: { callId: call_id, operation } } : undefined
}

function readLocalShell({ action }: RawItem): ClientCall {
  const { command, timeout_ms, user, working_directory, env } = record(action)
  const exec = { type: 'exec', command, timeoutMs: timeout_ms, user, workingDirectory: working_directory, env }
  return { name: 'local_shell', input: { action: exec } }
}

/** With a container of the service the service runs it. */
function readShell({ action, environment }: RawItem): ClientCall | undefined {
  if (String(record(environment).type ?? 'local') !== 'local') return undefined
  const { commands, timeout_ms, max_output_length } = record(action)
  const input = { commands, timeoutMs: timeout_ms ?? undefined, maxOutputLength: max_output_length ?? undefined }
  return { name: 'shell', input: { action: input } }
}

function readComputer({ action, actions, pending_safety_checks, status }: RawItem): ClientCall {
  const all = actions ?? (action ? [action] : [])
  return {
    name: 'computer',
    input: {
      actions: list(all).map(readAction),
      pendingSafetyChecks: list(pending_safety_checks).map(withoutNulls),
      status,
    },
  }
}

const readAction = ({ scroll_x, scroll_y, ...action }: Raw): object =>
  withoutNulls({ ...action, scrollX: scroll_x, scrollY: scroll_y })

const withoutNulls = (value: Raw): object =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined))

function readToolSearch({ arguments: args, call_id, execution }: RawItem): ClientCall | undefined {
  return execution === 'client' ? { name: 'tool_search', input: { arguments: args, call_id } } : undefined
}

type Raw = Readonly<Record<string, unknown>>

const record = (value: unknown): Raw => (typeof value === 'object' && value !== null ? (value as Raw) : {})
const list = (value: unknown): readonly Raw[] => (Array.isArray(value) ? value.map(record) : [])
