import { CodedError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { isPlainJson } from '../core/plain-json.ts'
import { copyJson } from '../core/turn.ts'
import type { StateSlot, ToolContract } from './contract.ts'
import type { HostedTool, ToolHost } from './host.ts'

/** What one tool remembers in one session: kept in the log, under its name and layer, in the shape it declares. */
export function stateSlot(
  { contract, origin, stateCheck }: HostedTool,
  logNow: () => Log | undefined,
): ToolHost['session']['state'] {
  const { name } = contract
  const slot = slotOf(contract)
  const owner = `tool:${name}`
  const { layer } = origin

  function open(): { log: Log; slot: NonNullable<typeof slot> } {
    if (!slot) throw new CodedError('ExtensionHost/NoStateSlot', `${name} declares no stateSlot, so it keeps nothing`)
    const log = logNow()
    if (!log) throw new CodedError('ExtensionHost/NoSession', `${name} can use its state only while a call runs`)
    return { log, slot }
  }

  return {
    async read() {
      const { log, slot } = open()
      const kept = log.transcript.states.get(owner)
      // A tool that took the name over from another layer does not get what that one knew.
      if (!isKept(kept) || kept.layer !== layer) return undefined
      const isOld = kept.slotVersion !== slot.slotVersion
      const value: unknown = isOld ? slot.migrate?.(copyJson(kept.value), kept.slotVersion) : copyJson(kept.value)
      return value === undefined || stateCheck(value) !== undefined ? undefined : value
    },
    async write(value) {
      const { log, slot } = open()
      const { slotVersion } = slot
      const copy = isPlainJson({ value }) ? copyJson(value) : undefined
      const problem = copy === undefined ? 'it is no plain data' : stateCheck(copy)
      if (problem) throw new CodedError('Validation/StateInvalid', `the state of ${name} cannot be kept: ${problem}`)
      await log.append({ type: 'state', owner, value: { slotVersion, layer, value: copy } })
    },
  }
}

/** What a tool keeps; `undefined` for one that is stateless. */
export const slotOf = ({ stateSlot }: ToolContract): StateSlot | undefined =>
  stateSlot === 'none' || stateSlot === null ? undefined : stateSlot

interface Kept {
  readonly slotVersion: string | number
  readonly layer: string
  readonly value: unknown
}

const isKept = (kept: unknown): kept is Kept =>
  typeof kept === 'object' && kept !== null && 'slotVersion' in kept && 'layer' in kept && 'value' in kept
