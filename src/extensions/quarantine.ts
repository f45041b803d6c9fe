import { AgentProviderError } from '../core/errors.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { ModelRequest } from '../core/provider.ts'
import type { Run } from '../core/run.ts'
import type { Message, SessionContentBlock, SessionTurn } from '../core/turn.ts'

/**
 * A block that a service will not read would spoil every further request: it is found and set aside, for this service
 * only, by an entry that can be taken back. What the log has stays as it is.
 */
export function createQuarantine(run: Run): (refused: Refused) => Promise<void> {
  let turn = ''
  let setAside: Place[] = []
  return async (refused) => {
    if (refused.retry) return // somebody else has done something about it
    if (refused.turnId !== turn) setAside = []
    turn = refused.turnId
    const found = await find(run, refused, setAside)
    const place = found && isTheQuestion(found, refused.request.messages) ? undefined : found
    const known = place && placeIn(setAside, place)
    if (known && isPart(known)) {
      known.isHidden = true
      await edit(run, known)
    } else if (place && !known && setAside.length < mostPlaces) {
      setAside.push(place)
      await edit(run, place, standIn(place.original, run.provider.meta.name))
    } else {
      // It did not help, so it was not that.
      for (const one of setAside.splice(0)) await edit(run, one, one.original)
      return
    }
    refused.retry = true
  }
}

type Refused = HookContexts['request:refused']

/** In one turn. When that does not help, it is not the conversation. */
const mostPlaces = 3

interface Place {
  readonly turnId: string
  readonly block: number
  /** What a model was shown there before. */
  readonly original: SessionContentBlock
  isHidden?: boolean
}

const placeIn = (places: readonly Place[], { turnId, block }: Place): Place | undefined =>
  places.find((one) => one.turnId === turnId && one.block === block)

/** A call, or a result, may be refused for more than what it says: its other half goes with it. */
const isPart = ({ original: { type }, isHidden }: Place): boolean =>
  !isHidden && (type === 'tool_call' || type === 'tool_result')

/** What the user has just said is answered whole or not at all. */
function isTheQuestion({ turnId, original }: Place, messages: readonly Message[]): boolean {
  const isSaid = ({ role, content }: Message): boolean => role === 'user' && !content.some(isResult)
  const { id } = (messages.findLast(isSaid) ?? {}) as Partial<SessionTurn>
  return id === turnId && original.type === 'text'
}

const isResult = ({ type }: SessionContentBlock): boolean => type === 'tool_result'

async function edit(run: Run, { turnId, block }: Place, replacement?: SessionContentBlock): Promise<void> {
  if (run.cancellation.isCancelled) throw run.cancellation.reason
  const provider = run.provider.meta.name
  await run.log.append({ type: 'context_edit', turnId, block, provider, ...(replacement && { replacement }) })
}

/** Says what is missing and keeps calls and results together. */
function standIn(block: SessionContentBlock, provider: string): SessionContentBlock {
  const note = `[left out: ${provider} refused this ${String(block.type).replace('_', ' ')}]`
  switch (block.type) {
    case 'tool_result':
      return { ...block, output: note }
    case 'tool_call':
      return { type: 'tool_call', id: block.id, name: block.name, input: {} }
    case 'thinking':
      return { type: 'thinking', text: '' } // unsigned and empty, so no service gets it
    default:
      return { type: 'text', text: note }
  }
}

/** The place that the service names, else the one that it turns out to be. */
async function find(run: Run, refused: Refused, setAside: Place[]): Promise<Place | undefined> {
  const { request, turnId } = refused
  const { message: index, block } = refused.refused
  const units = unitsOf(request.messages).filter((unit) => index === undefined || unit.index === index)
  const isNamed = index !== undefined && (block !== undefined || units.length === 1)
  const named = isNamed ? placeOf(run, request.messages, { index, block: block ?? 0 }) : undefined
  const known = named && placeIn(setAside, named)
  if (named && (!known || isPart(known))) return named
  // What it names is set aside already and it still complains: then it is something else in the same message.
  if (known) {
    setAside.splice(setAside.indexOf(known), 1)
    await edit(run, known, known.original)
  }
  const found = culprit(run, request.messages, await search(run, request, turnId, units), setAside)
  return found && known && placeIn([known], found) ? undefined : found
}

/** Thinking is only sent with what it led to, so it may be that. */
function culprit(
  run: Run,
  messages: readonly Message[],
  unit: Unit | undefined,
  setAside: readonly Place[],
): Place | undefined {
  const { content } = (unit && messages[unit.index]) ?? { content: [] }
  for (let block = (unit?.block ?? 0) - 1; unit && content[block]?.type === 'thinking'; block--) {
    const thought = placeOf(run, messages, { ...unit, block })
    if (thought && !placeIn(setAside, thought)) return thought
  }
  return placeOf(run, messages, unit)
}

interface Unit {
  readonly index: number
  readonly block: number
}

/** Where a conversation can be cut. */
const unitsOf = (messages: readonly Message[]): Unit[] =>
  messages.flatMap(({ content }, index) =>
    content.flatMap(({ type }, block) => (type === 'thinking' ? [] : [{ index, block }])),
  )

/** The first block without which the conversation up to there would be accepted, in as few questions as possible. */
async function search(
  run: Run,
  request: ModelRequest,
  turnId: string,
  units: readonly Unit[],
): Promise<Unit | undefined> {
  let good = 0
  let bad = units.length
  while (good + 1 < bad) {
    const middle = (good + bad) >> 1
    const isRefused = await probe(run, request, turnId, units[middle - 1]!)
    if (isRefused === undefined) return undefined
    if (isRefused) bad = middle
    else good = middle
  }
  return units[bad - 1]
}

/** Whether the conversation is refused when it ends with this block; undefined when that could not be found out. */
async function probe(run: Run, request: ModelRequest, turnId: string, last: Unit): Promise<boolean | undefined> {
  const { model, system, tools } = request
  const end = request.messages[last.index]!
  const cut = { ...end, content: end.content.slice(0, last.block + 1) }
  const messages = [...request.messages.slice(0, last.index), cut, goOn]
  try {
    await run.askAside({ cause: 'quarantine', turnId, model, system, tools, messages, maxTokens: 1 })
    return false
  } catch (error) {
    if (run.cancellation.isCancelled) throw error
    return error instanceof AgentProviderError && error.refused ? true : undefined
  }
}

/** Closes whatever the cut left open: services are pickier about calls and thinking that still go on. */
const goOn: Message = { role: 'user', content: [{ type: 'text', text: 'Continue.' }] }

/** Only what is in the log can be set aside; what a hook made up is made up again. */
function placeOf(run: Run, messages: readonly Message[], unit: Unit | undefined): Place | undefined {
  const message = unit && (messages[unit.index] as (Message & Partial<SessionTurn>) | undefined)
  const turnId = message?.id
  if (!unit || !message || turnId === undefined) return undefined
  const { transcript } = run.log
  const isIt = (one: Message & Partial<SessionTurn>): boolean => one.id === turnId
  const shown = transcript.messagesFor(run.provider.meta.name).find(isIt)
  const turn = transcript.turns.find(isIt) ?? shown // a summary is shown, and is no turn
  const original = shown && counterpart(message.content[unit.block], unit.block, message, shown).block
  if (!turn || !original) return undefined
  const { index } = counterpart(original, shown.content.indexOf(original), shown, turn)
  return index < 0 ? undefined : { turnId, block: index, original }
}

/** The same block in another version of a message: itself, or where nothing was added or hidden, what stands there. */
function counterpart(
  block: SessionContentBlock | undefined,
  index: number,
  { content }: Message,
  other: Message,
): { block: SessionContentBlock | undefined; index: number } {
  const same = block ? other.content.indexOf(block) : -1
  const at = same < 0 && other.content.length === content.length ? index : same
  return { block: other.content[at], index: at }
}
