import { type LogEntry, type RemoteClient, type RemoteEvent, RemoteProblem } from '../libero.ts'

/** A session of an export, with its sub-agents. */
interface Exported {
  readonly id: string
  readonly parent?: string
  readonly entries: LogEntry[]
}

/** What a file with an export holds: the session, and its sub-agents after it. */
export function readExport(lines: Iterable<string>): readonly [Exported, ...Exported[]] {
  const sessions: Exported[] = []
  for (const line of lines) {
    if (line.trim() === '') continue
    const value = JSON.parse(line) as { libero?: string; id: string; parent?: string } | LogEntry
    if (!('libero' in value)) sessions.at(-1)?.entries.push(value as LogEntry)
    else if (value.libero === 'session' || value.libero === 'child')
      sessions.push({ id: value.id, ...(value.parent !== undefined && { parent: value.parent }), entries: [] })
  }
  const [root, ...children] = sessions
  if (!root) throw new Error('This file holds no session')
  return [root, ...children]
}

/** A client of a session that is at hand, so that it is shown by the same model and the same rows as one on a server. */
export function replayClient([root, ...children]: ReturnType<typeof readExport>): RemoteClient {
  const details = root.entries.flatMap((entry) => (entry.type === 'details' ? [entry] : []))
  const turns = root.entries.filter(({ type }) => type === 'turn').length
  const head = root.entries.at(-1)?.seq ?? 0
  const at = (seq: number): number => root.entries[seq - 1]?.at ?? 0
  const summary = {
    ...Object.assign({}, ...details),
    ...{ id: root.id, head, turns, calls: 0, tokens: 0, cost: 0, bytes: 0, tags: [], status: 'idle' as const },
    ...{ createdAt: at(1), updatedAt: at(head), pending: [] },
  }
  const depthOf = (id: string): number => {
    const parent = children.find((child) => child.id === id)?.parent
    return parent === undefined ? 0 : depthOf(parent) + 1
  }
  const offered: Partial<RemoteClient> = {
    sessions: onlyWith<RemoteClient['sessions']>({
      get: async () => summary,
      async entries(_, { after = 0, before = head + 1, limit = 1000, fromEnd } = {}) {
        const found = root.entries.filter(({ seq }) => seq > after && seq < before)
        return { entries: fromEnd ? found.slice(-limit) : found.slice(0, limit), head }
      },
    }),
    async *events(): AsyncGenerator<RemoteEvent, void, undefined> {
      for (const { id, entries } of children)
        for (const entry of entries) {
          const event = { durable: true as const, seq: entry.seq, entry }
          yield { durable: false, type: 'child', child: { id, depth: depthOf(id) }, event }
        }
    },
  }
  return onlyWith<RemoteClient>(offered)
}

/** Whatever else is asked for needs a server. */
function onlyWith<T extends object>(offered: Partial<T>): T {
  const refuse = async (): Promise<never> => {
    throw new RemoteProblem({
      status: 501,
      code: 'not_offered',
      detail: 'This is a copy of a session, without a server',
    })
  }
  return new Proxy(offered as T, { get: (target, name) => Reflect.get(target, name) ?? refuse })
}
