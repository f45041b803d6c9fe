import { didYouMean } from '../../core/nearest.ts'
import type { ModelChoice } from '../chat.ts'
import type { CommandContext } from '../command.ts'
import type { CommandWork } from '../lazy-command.ts'

export const model: CommandWork = {
  async complete(_, { chat }) {
    return (await chat.models()).map((choice) => ({ text: nameOf(choice), ...windowOf(choice) }))
  },
  async run(argument, context) {
    const { chat, screen } = context
    const models = await chat.models()
    const chosen = argument === '' ? await choose(models, context) : modelNamed(argument, models)
    if (!chosen) return
    await chat.set({ model: chosen })
    screen.print(`Model: ${nameOf(chosen)}`)
  },
}

async function choose(
  models: readonly ModelChoice[],
  { chat, screen }: CommandContext,
): Promise<ModelChoice | undefined> {
  const present = chat.state.settings.model
  if (models.length === 0)
    throw new Error(`No list of models is available; name one: /model ${present.provider}/${present.model}`)
  const at = models.findIndex((one) => nameOf(one) === nameOf(present))
  const index = await screen.choose({
    title: `Model (now ${nameOf(present)})`,
    items: models.map((one) => ({ label: nameOf(one), ...windowOf(one) })),
    ...(at >= 0 && { initial: at }),
  })
  return index === undefined ? undefined : models[index]
}

/** A model by its full name, its own name, or a part of the name that only one has. A name that is not listed is tried as it is. */
function modelNamed(argument: string, models: readonly ModelChoice[]): ModelChoice {
  const wanted = argument.toLowerCase()
  const exact = models.find((one) => nameOf(one).toLowerCase() === wanted || one.model.toLowerCase() === wanted)
  if (exact) return exact
  const similar = models.filter((one) => nameOf(one).toLowerCase().includes(wanted))
  if (similar.length === 1) return similar[0]!
  if (similar.length > 1)
    throw new Error(`"${argument}" may be ${similar.slice(0, 5).map(nameOf).join(', ')}; type more of the name`)
  const [, provider, name] = /^([^/\s]+)\/(\S+)$/.exec(argument) ?? []
  if (provider !== undefined && name !== undefined) return { provider, model: name }
  const hint = didYouMean(
    argument,
    models.map(({ model }) => model),
  )
  throw new Error(`There is no model "${argument}"${hint || '; write it as provider/model'}`)
}

const nameOf = ({ provider, model }: ModelChoice): string => (provider === model ? model : `${provider}/${model}`)

const windowOf = ({ contextWindow }: ModelChoice): { readonly detail?: string } =>
  contextWindow === undefined ? {} : { detail: `${Math.round(contextWindow / 1000)}k tokens` }
