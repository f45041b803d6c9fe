import type { ProjectItem } from './project-items.ts'

/** An item that waits: it is left out, and the rest works. */
export interface PendingItem extends ProjectItem {
  /** `refused` is one with a problem: nobody is asked about it. */
  readonly why: 'new' | 'changed' | 'refused'
}

/** What became of the items at a gate. */
export interface GateResult {
  readonly accepted: readonly ProjectItem[]
  readonly pending: readonly PendingItem[]
  /** Those among the accepted that are to be remembered. */
  readonly added: readonly ProjectItem[]
}

/** What somebody said about items: all of them or some, for good or for once. */
export interface GateAnswer {
  readonly ids: ReadonlySet<string>
  readonly isKept: boolean
}

/** Lets through what was accepted exactly as it is now, and asks once about the rest. */
export async function passGate(
  items: readonly ProjectItem[],
  recorded: Readonly<Record<string, string>>,
  ask: (waiting: readonly PendingItem[]) => Promise<GateAnswer>,
): Promise<GateResult> {
  const known = items.filter((item) => isRecorded(item, recorded))
  const rest = items
    .filter((item) => !known.includes(item))
    .map((item): PendingItem => ({ ...item, why: whyOf(item, recorded) }))
  const waiting = rest.filter(({ why }) => why !== 'refused')
  const { ids, isKept } = waiting.length > 0 ? await ask(waiting) : noneAccepted
  const isChosen = ({ id, why }: PendingItem) => why !== 'refused' && ids.has(id)
  const chosen = rest.filter(isChosen).map(({ why: _, ...item }): ProjectItem => item)
  return {
    accepted: [...known, ...chosen],
    pending: rest.filter((item) => !isChosen(item)),
    added: isKept ? chosen : [],
  }
}

/** The answer of nobody. */
export const noneAccepted: GateAnswer = { ids: new Set(), isKept: false }

/** What a list remembers of items. */
export function recordOf(items: readonly ProjectItem[]): Readonly<Record<string, string>> {
  return Object.fromEntries(items.map(({ id, digest }) => [id, digest]))
}

function isRecorded({ id, digest, problem }: ProjectItem, recorded: Readonly<Record<string, string>>): boolean {
  return problem === undefined && Object.hasOwn(recorded, id) && recorded[id] === digest
}

function whyOf({ id, problem }: ProjectItem, recorded: Readonly<Record<string, string>>): PendingItem['why'] {
  if (problem !== undefined) return 'refused'
  return Object.hasOwn(recorded, id) ? 'changed' : 'new'
}
