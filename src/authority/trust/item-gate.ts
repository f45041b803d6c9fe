import { messageOf } from '../../core/errors.ts'
import type { Interact, InteractionResponse } from '../../core/interaction.ts'
import { Suspended } from '../../core/tool-context.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { ProjectItem } from './project-items.ts'
import { describeNames, type ProjectNames } from './project-names.ts'

/** An item that was not accepted. It is left out; the rest is used. */
export interface PendingItem extends ProjectItem {
  /** `refused`: the item has a problem, so no person is asked about it. */
  readonly why: 'new' | 'changed' | 'refused'
}

/** The result of a gate. */
export interface GateResult {
  readonly accepted: readonly ProjectItem[]
  readonly pending: readonly PendingItem[]
  /** The accepted items to store in the trust list. */
  readonly added: readonly ProjectItem[]
}

/** The answer about items: the accepted ids, and whether to store them. */
interface GateAnswer {
  readonly ids: ReadonlySet<string>
  readonly isKept: boolean
}

/** Passes items that were accepted exactly as they are now, and asks once about the rest. */
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

const noneAccepted: GateAnswer = { ids: new Set(), isKept: false }

/** The digests by id, as the trust list stores them. */
export function digestsById(items: readonly ProjectItem[]): Readonly<Record<string, string>> {
  return Object.fromEntries(items.map(({ id, digest }) => [id, digest]))
}

function isRecorded({ id, digest, problem }: ProjectItem, recorded: Readonly<Record<string, string>>): boolean {
  return problem === undefined && Object.hasOwn(recorded, id) && recorded[id] === digest
}

function whyOf({ id, problem }: ProjectItem, recorded: Readonly<Record<string, string>>): PendingItem['why'] {
  if (problem !== undefined) return 'refused'
  return Object.hasOwn(recorded, id) ? 'changed' : 'new'
}

interface Asking {
  readonly interact?: Interact
  readonly signal?: AbortSignal
}

type ProjectAnswer =
  | { readonly choice: 'trust' | 'decline' | 'once' }
  | { readonly choice?: never; readonly why: string }

/** Asks whether a project is trusted, and shows the names of its items. Only the three words count as answers. */
export async function askAboutProject(root: string, names: ProjectNames, asking: Asking): Promise<ProjectAnswer> {
  const summary = `This project brings:\n${describeNames(names)}\nNo file of it was opened. What you trust can run as you and steer the model.`
  const answer = await ask(root, summary, 'project', [], asking)
  if (answer.status === 'timeout') return { why: 'no answer came in time' }
  if (answer.status !== 'accepted') return { why: answer.reason === '' ? 'it was not decided' : answer.reason }
  const { value } = answer
  if (value === 'trust' || value === 'decline' || value === 'once') return { choice: value }
  return { why: 'the answer was none of trust, decline and once' }
}

/** Asks once about several items: `trust` and `once` cover all of them, a list of ids covers those. */
export async function askAboutItems(
  about: 'changed' | 'mcp',
  root: string,
  waiting: readonly PendingItem[],
  asking: Asking,
): Promise<GateAnswer> {
  const lines = waiting.map(({ shown, why }) => `- ${why}: ${shown}`)
  const summary = `${openings[about]}\n${lines.join('\n')}\nWhat you do not trust is left out; the rest works.`
  const ids = waiting.map(({ id }) => id)
  const answer = await ask(root, summary, about, ids, asking)
  if (answer.status !== 'accepted') return noneAccepted
  const { value } = answer
  if (value === 'trust' || value === 'once') return { ids: new Set(ids), isKept: value === 'trust' }
  return Array.isArray(value) ? { ids: new Set(value), isKept: true } : noneAccepted
}

const openings = {
  changed: 'You trust this project, but not yet these things as they are now:',
  mcp: 'This project wants to start or call these MCP servers:',
}

const cannotAsk = { status: 'rejected', reason: 'no person can be asked' } as const

/** Asks a person. Where none can be asked, the question counts as rejected; only an abort is thrown. */
async function ask(
  root: string,
  summary: string,
  about: 'project' | 'changed' | 'mcp',
  items: readonly string[],
  { interact, signal = new AbortController().signal }: Asking,
): Promise<InteractionResponse> {
  if (!interact) return cannotAsk
  try {
    const payload = { kind: 'trustProject', path: fullyVisible(root), summary, about, items }
    return await interact({ kind: 'trustProject', payload }, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof Suspended) return cannotAsk // this question is not kept open for later
    return { status: 'rejected', reason: messageOf(error) }
  }
}
