import { exitCodes } from '../cli-error.ts'
import { defineCommand } from '../command.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'

/** `libero models`. */
export const command = defineCommand({
  name: 'models',
  summary: 'List models and what they cost',
  words: '[provider]',
  maxWords: 1,
  details: [
    'Without a provider: the models of every provider with a key, of Ollama and LM Studio if they run, and the offline model. The default of each provider is marked with *; prices are dollars per million tokens, from a list that comes with Libero.',
    'A run uses the provider of --provider; else of --model, as in openai/gpt-5.5; else of the config; else the first of anthropic, openai, openrouter, google, cerebras, groq, deepseek, mistral, together, fireworks, baseten, xai and those of the config that has a key in the environment; else the first that has a stored key; else Ollama or LM Studio, if one answers on this machine. Else the run ends with an error; at a terminal it offers the offline model.',
  ],
  flags: {
    all: { type: 'boolean', says: 'Include providers without a key, and deprecated models' },
    json: { type: 'boolean', says: 'Print one JSON object: { models, chosen }' },
  },
  examples: [
    { line: 'libero models', says: 'The models you can use' },
    { line: 'libero models anthropic --json', says: 'For a script' },
  ],
  async run({ values: { all = false, json = false }, words: [provider] }, io) {
    const { config } = await (await import('../config/config.ts')).loadConfig({ home: io.home })
    const { listModels, usableProviders } = await import('../models/model-list.ts')
    const names = provider === undefined ? await usableProviders(config, io, { all }) : [provider]
    const models = (await Promise.all(names.map((name) => listModels(name, config, io, { all })))).flat()
    const chosen = await chosenOf(provider, config, io)
    if (json) io.out((await import('../text.ts')).jsonText({ models, ...(chosen && { chosen }) }))
    else {
      const { modelTable } = await import('../models/model-list.ts')
      for (const line of modelTable(models)) io.out(line)
      if (models.length === 0) io.err(await noModelsMessage(provider ?? ''))
      else if (chosen) io.err(await defaultModelMessage(chosen))
    }
    return models.length === 0 && !json ? exitCodes.error : exitCodes.done
  },
})

interface Chosen {
  readonly provider: string
  readonly model: string
  readonly why: string
}

/** The model that a run would use; undefined if there is none. */
async function chosenOf(provider: string | undefined, config: Config, io: Io): Promise<Chosen | undefined> {
  const [{ chooseModel }, { CliError }] = await Promise.all([
    import('../models/choose-model.ts'),
    import('../cli-error.ts'),
  ])
  try {
    const { name, model, why } = await chooseModel(provider === undefined ? {} : { provider }, config, io)
    return { provider: name, model, why }
  } catch (error) {
    if (error instanceof CliError) return undefined
    throw error
  }
}

async function defaultModelMessage({ provider, model, why }: Chosen): Promise<string> {
  const { fullyVisible } = await import('../../platform/visible-text.ts')
  return fullyVisible(`used by default: ${provider}/${model} (${why})`)
}

async function noModelsMessage(provider: string): Promise<string> {
  const { fullyVisible } = await import('../../platform/visible-text.ts')
  const name = fullyVisible(provider)
  return name === 'ollama' || name === 'lmstudio'
    ? `${name} does not answer on this machine, or has no model: start it, then try again`
    : `no models of ${name} are known: name one with --model ${name}/<model>`
}
