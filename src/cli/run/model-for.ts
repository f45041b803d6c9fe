import type { Session } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import { type ChosenModel, chooseModel, type ModelIo, type ModelWish, NoModelError } from '../models/choose-model.ts'

interface ModelForOptions {
  readonly session: Session | undefined
  readonly config: Config
  readonly io: ModelIo
  /** Whether to go on with the offline model where no other is set up. Absent: it is an error. */
  readonly mayGoOffline?: (() => Promise<boolean>) | undefined
}

interface ModelFor {
  readonly chosen: ChosenModel
  readonly notice?: string
}

/** The model that flags name; else, in a session that goes on, the one it was on, if it is still there; else the usual one. */
export async function modelFor({ provider, model }: RunValues, options: ModelForOptions): Promise<ModelFor> {
  const { session, config, io } = options
  const last = session?.log.transcript.turns.findLast(({ role }) => role === 'assistant')
  const isNamed = provider !== undefined || model !== undefined
  if (isNamed || last?.provider === undefined || last.model === undefined)
    return { chosen: await usualModel({ provider, model }, options) }
  // A person who has a key by now wants a real model; else a session that was offline goes on so.
  if (last.provider === 'offline')
    return { chosen: await usualModel({}, { ...options, mayGoOffline: async () => true }) }
  try {
    const chosen = await chooseModel({ provider: last.provider, model: last.model }, config, io)
    return { chosen: { ...chosen, why: 'the model of this session' } }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const notice = `This session was on ${fullyVisible(last.provider)} ${fullyVisible(last.model)}, which is not to be had now: ${error.message}`
    return { chosen: await usualModel({}, options), notice }
  }
}

async function usualModel(wish: ModelWish, { config, io, mayGoOffline }: ModelForOptions): Promise<ChosenModel> {
  try {
    return await chooseModel(wish, config, io)
  } catch (error) {
    if (!(error instanceof NoModelError) || !(await mayGoOffline?.())) throw error
    const why = 'rules, not a language model; for a real one: libero login'
    return { ...(await chooseModel({ provider: 'offline' }, config, io)), why }
  }
}
