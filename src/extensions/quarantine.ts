import { AgentProviderError } from '../core/errors.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { ModelRequest } from '../core/provider.ts'
import type { Run } from '../core/run.ts'
import type { Message, SessionContentBlock, SessionTurn } from '../core/turn.ts'

/**
 * A block that a service refuses would make every further request fail. It is searched for and replaced, for this service
 * only, by an entry that can be undone. The log keeps the block.
 */
export function createQuarantine(run: Run): (refused: Refused) => Promise<void> {
  let turn = ''
  let setAside: RefusedBlock[] = []
  return async (refused) => {
    if (refused.retry) return // another handler has changed the conversation
    if (refused.turnId !== turn) setAside = []
    turn = refused.turnId
    const found = await find(run, refused, setAside)
    const refusedBlock = found && isLastUserMessage(found, refused.request.messages) ? undefined : found
    const known = refusedBlock && sameBlockIn(setAside, refusedBlock)
    if (known && canBeHidden(known)) {
      known.isHidden = true
      await edit(run, known)
    } else if (refusedBlock && !known && setAside.length < maxBlocks) {
      setAside.push(refusedBlock)
      await edit(run, refusedBlock, replacementFor(refusedBlock.original, run.provider.meta.name))
    } else {
      // Replacing these blocks did not help: restore them.
      for (const one of setAside.splice(0)) await edit(run, one, one.original)
      return
    }
    refused.retry = true
  }
}

type Refused = HookContexts['request:refused']

/** Per turn. If three do not help, the conversation is not the cause. */
const maxBlocks = 3

interface RefusedBlock {
  readonly turnId: string
  readonly block: number
  /** The block that the model got before. */
  readonly original: SessionContentBlock
  isHidden?: boolean
}

const sameBlockIn = (blocks: readonly RefusedBlock[], { turnId, block }: RefusedBlock): RefusedBlock | undefined =>
  blocks.find((one) => one.turnId === turnId && one.block === block)

/** Whether the whole block may be hidden next: a call or a result may be refused for more than its content. */
const canBeHidden = ({ original: { type }, isHidden }: RefusedBlock): boolean =>
  !isHidden && (type === 'tool_call' || type === 'tool_result')

/** The user's last message is never changed: half a question may get a wrong answer. */
function isLastUserMessage({ turnId, original }: RefusedBlock, messages: readonly Message[]): boolean {
  const isUserMessage = ({ role, content }: Message): boolean => role === 'user' && !content.some(isResult)
  const { id } = (messages.findLast(isUserMessage) ?? {}) as Partial<SessionTurn>
  return id === turnId && original.type === 'text'
}

const isResult = ({ type }: SessionContentBlock): boolean => type === 'tool_result'

async function edit(run: Run, { turnId, block }: RefusedBlock, replacement?: SessionContentBlock): Promise<void> {
  if (run.cancellation.isCancelled) throw run.cancellation.reason
  const provider = run.provider.meta.name
  await run.log.append({ type: 'context_edit', turnId, block, provider, ...(replacement && { replacement }) })
}

/** A note in place of a block. Calls and results stay calls and results. */
function replacementFor(block: SessionContentBlock, provider: string): SessionContentBlock {
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

/** The block that the service names, else the one found by searching. */
async function find(run: Run, refused: Refused, setAside: RefusedBlock[]): Promise<RefusedBlock | undefined> {
  const { request, turnId } = refused
  const { message: index, block } = refused.refused
  const units = unitsOf(request.messages).filter((unit) => index === undefined || unit.index === index)
  const isNamed = index !== undefined && (block !== undefined || units.length === 1)
  const named = isNamed ? blockOf(run, request.messages, { index, block: block ?? 0 }) : undefined
  const known = named && sameBlockIn(setAside, named)
  if (named && (!known || canBeHidden(known))) return named
  // The named block is replaced already: the cause must be another block of the same message.
  if (known) {
    setAside.splice(setAside.indexOf(known), 1)
    await edit(run, known, known.original)
  }
  const found = causeIn(run, request.messages, await search(run, request, turnId, units), setAside)
  return found && known && sameBlockIn([known], found) ? undefined : found
}

/** Thinking is only sent with the block that follows it, so it may be the cause. */
function causeIn(
  run: Run,
  messages: readonly Message[],
  unit: Unit | undefined,
  setAside: readonly RefusedBlock[],
): RefusedBlock | undefined {
  const { content } = (unit && messages[unit.index]) ?? { content: [] }
  for (let block = (unit?.block ?? 0) - 1; unit && content[block]?.type === 'thinking'; block--) {
    const thinking = blockOf(run, messages, { ...unit, block })
    if (thinking && !sameBlockIn(setAside, thinking)) return thinking
  }
  return blockOf(run, messages, unit)
}

interface Unit {
  readonly index: number
  readonly block: number
}

/** The positions at which a conversation can be cut off. */
const unitsOf = (messages: readonly Message[]): Unit[] =>
  messages.flatMap(({ content }, index) =>
    content.flatMap(({ type }, block) => (type === 'thinking' ? [] : [{ index, block }])),
  )

/** Finds the first refused block by binary search: each probe sends the conversation up to some block. */
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

/** Whether the conversation up to this block is refused; undefined if the probe failed in another way. */
async function probe(run: Run, request: ModelRequest, turnId: string, last: Unit): Promise<boolean | undefined> {
  const { model, system, tools } = request
  const end = request.messages[last.index]!
  const cut = { ...end, content: end.content.slice(0, last.block + 1) }
  const messages = [...request.messages.slice(0, last.index), cut, continueMessage]
  try {
    await run.askAside({ cause: 'quarantine', turnId, model, system, tools, messages, maxTokens: 1 })
    return false
  } catch (error) {
    if (run.cancellation.isCancelled) throw error
    return error instanceof AgentProviderError && error.refused ? true : undefined
  }
}

/** Ends a cut conversation: services are stricter about an unfinished turn. */
const continueMessage: Message = { role: 'user', content: [{ type: 'text', text: 'Continue.' }] }

/** Only blocks of the log can be replaced: a hook would add its own again. */
function blockOf(run: Run, messages: readonly Message[], unit: Unit | undefined): RefusedBlock | undefined {
  const message = unit && (messages[unit.index] as (Message & Partial<SessionTurn>) | undefined)
  const turnId = message?.id
  if (!unit || !message || turnId === undefined) return undefined
  const { transcript } = run.log
  const hasId = (one: Message & Partial<SessionTurn>): boolean => one.id === turnId
  const shown = transcript.messagesFor(run.provider.meta.name).find(hasId)
  const turn = transcript.turns.find(hasId) ?? shown // a summary is no turn
  const original = shown && counterpart(message.content[unit.block], unit.block, message, shown).block
  if (!turn || !original) return undefined
  const { index } = counterpart(original, shown.content.indexOf(original), shown, turn)
  return index < 0 ? undefined : { turnId, block: index, original }
}

/** The same block in another version of a message: the block itself, or the one at its index if the length is the same. */
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
