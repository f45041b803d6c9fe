import { isRecord } from '../../core/is-record.ts'
import type { Session, SessionQuery, SessionStore } from '../../core/store.ts'
import { oneLine } from '../../core/text.ts'
import { timeAgo } from '../../platform/format.ts'
import { loadSession } from '../../sessions/session.ts'
import type { CommandWork } from '../lazy-command.ts'
import { requireIdleSession } from './open-session.ts'

export const tree: CommandWork = {
  async run(_, context) {
    const { chat, screen } = context
    const session = requireIdleSession(context)
    if (!session.store) throw new Error('The store of this session cannot list others')
    const branches = await readFamily(session, session.store)
    const lines = linesOf(branches)
    const initial = lines.findIndex(({ id, label }) => id === session.id && label === undefined)
    const items = lines.map((line) => ({ label: textOf(line, session.id), detail: timeAgo(line.at, Date.now()) }))
    const index = await screen.choose({ title: 'Forks and labels: choose one to continue there', items, initial })
    const chosen = index === undefined ? undefined : lines[index]
    if (!chosen) return
    if (chosen.label !== undefined) return chat.open({ fork: { id: chosen.id, at: chosen.seq } })
    if (chosen.id !== session.id) return chat.open({ resume: chosen.id })
  },
}

/** A session of the family: this one, the one it was copied from, and copies of these. */
export interface Branch {
  readonly id: string
  readonly title: string
  readonly updatedAt: number
  /** The session that it was copied from, and the last entry that both share. */
  readonly origin?: { readonly session: string; readonly seq: number }
  readonly labels: Session['labels']
}

/** Of so many of the latest sessions the family is found. */
const mostRead = 300

/** Copies share their first entries: the first one tells whether a session belongs to the family. */
export async function readFamily(
  session: Session,
  store: SessionStore,
  among: Pick<SessionQuery, 'tenant' | 'prefix'> = {},
): Promise<readonly Branch[]> {
  const firstOf = async (id: string): Promise<string | undefined> => (await store.read(id, { limit: 1 }))[0]?.id
  const first = await firstOf(session.id)
  const { folder } = (await store.find(session.id)) ?? {}
  const query = { ...among, parent: null, limit: mostRead, ...(folder !== undefined && { folder }) }
  const { sessions } = await store.list(query)
  const branches: Branch[] = []
  for (const { id, title = '', updatedAt } of sessions) {
    if (first === undefined || (await firstOf(id)) !== first) continue
    const { log, labels } = id === session.id ? session : await loadSession(store, id)
    const origin = originIn(log.transcript.states.get('fork'))
    branches.push({ id, title, updatedAt, labels, ...(origin && { origin }) })
  }
  return branches
}

/** A copy of a copy has the state of its original too, until its own is written. */
function originIn(value: unknown): Branch['origin'] {
  if (!isRecord(value) || typeof value.session !== 'string' || typeof value.seq !== 'number') return undefined
  return { session: value.session, seq: value.seq }
}

interface TreeLine {
  readonly id: string
  readonly depth: number
  readonly title: string
  readonly at: number
  /** The entry of a label, or the last one that a copy shares. */
  readonly seq: number
  readonly label?: string
}

/** Depth first; what branches off earlier comes first. A copy does not repeat the labels that it shares. */
export function linesOf(branches: readonly Branch[]): readonly TreeLine[] {
  const known = new Set(branches.map(({ id }) => id))
  const below = (branch: Branch, depth: number): TreeLine[] => {
    const { id, title, updatedAt, origin } = branch
    const shared = origin?.seq ?? 0
    const own = branch.labels.filter(({ seq }) => seq > shared)
    const copies = branches.filter((one) => one.origin?.session === id)
    const children = [
      ...own.map(({ seq, at, text }) => ({ seq, lines: [{ id, depth: depth + 1, title: '', at, seq, label: text }] })),
      ...copies.map((copy) => ({ seq: copy.origin!.seq, lines: below(copy, depth + 1) })),
    ]
    const self = { id, depth, title, at: updatedAt, seq: shared }
    return [self, ...children.toSorted((a, b) => a.seq - b.seq).flatMap(({ lines }) => lines)]
  }
  const roots = branches.filter(({ origin }) => origin === undefined || !known.has(origin.session))
  return roots.toSorted((a, b) => a.updatedAt - b.updatedAt).flatMap((root) => below(root, 0))
}

function textOf({ id, depth, title, seq, label }: TreeLine, open: string): string {
  const indent = '  '.repeat(depth)
  if (label !== undefined) return `${indent}# ${oneLine(label, 60)} (entry ${seq})`
  const from = depth > 0 ? ` (from entry ${seq})` : ''
  return `${indent}${id}  ${oneLine(title, 60)}${from}${id === open ? ', open here' : ''}`
}
