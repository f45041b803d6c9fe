import { type Catalogue, createCatalogue } from '../../providers/catalogue.ts'
import type { Config } from '../config/config.ts'
import { type ModelIo, requireKnown } from './choose-model.ts'
import { credentialsPathOf } from './credentials.ts'
import { askModels } from './local-models.ts'
import { traitsOf } from './model-traits.ts'
import { isLoopback, type KnownProvider, knownProviders } from './providers.ts'

/** A model as lists show it. What nobody knows is absent. */
export interface ListedModel {
  readonly id: string
  readonly provider: string
  /** In tokens. */
  readonly contextWindow?: number
  /** In tokens. */
  readonly maxOutput?: number
  readonly reasoning?: boolean
  /** Dollars per million tokens. */
  readonly inputPrice?: number
  readonly outputPrice?: number
  /** Taken where only the provider is named. */
  readonly isDefault?: true
  readonly isDeprecated?: true
}

/**
 * The models of a provider: from a server of this machine what it has, from all others what the price list knows. The
 * default comes first; with `all` also those that are going out of use or do not write text.
 */
export async function listModels(
  provider: string,
  config: Config,
  io: ModelIo,
  { all = false }: { readonly all?: boolean } = {},
): Promise<readonly ListedModel[]> {
  const known = requireKnown(provider, knownProviders(config))
  const served =
    known.baseURL !== undefined && isLoopback(known.baseURL)
      ? await askModels(known.baseURL, io, patienceMs)
      : undefined
  // A local server that is not there has no models, whatever its default is called.
  if (known.isLocal && !served) return []
  const catalogue = createCatalogue()
  const usual = await defaultOf(known, config, io, served)
  const ids = served ?? (await catalogue.models(provider))
  const wanted = all ? ids : ids.filter((id) => !writesNoText.test(id))
  const listed = [...new Set(usual === undefined ? wanted : [usual, ...wanted])].map((id) =>
    describe(known, id, catalogue),
  )
  const models = await Promise.all(listed)
  return models
    .filter(({ id, isDeprecated }) => all || id === usual || !isDeprecated)
    .map((model) => (model.id === usual ? { ...model, isDefault: true as const } : model))
}

const patienceMs = 2000
const writesNoText =
  /embed|whisper|\btts\b|transcribe|moderation|dall-e|sora|rerank|realtime|imagen|\bveo\b|-image\b|-audio\b|\bocr\b|safeguard|guard-/i

async function defaultOf(
  known: KnownProvider,
  config: Config,
  io: ModelIo,
  served: readonly string[] | undefined,
): Promise<string | undefined> {
  if (config.provider === known.name && config.model !== undefined) return config.model
  if (served && !known.isConfigured) return served[0]
  // Nobody is asked anything: the key only has to be one.
  const provider = await known.create({ env: {}, credentialsPath: credentialsPathOf(io), apiKey: 'none' })
  return provider.meta.defaultModel
}

async function describe(
  { name, isFree, isConfigured }: KnownProvider,
  id: string,
  catalogue: Catalogue,
): Promise<ListedModel> {
  const [info, input, output] = await Promise.all([
    catalogue.modelInfo(name, id),
    // A thousand, since more of them may cost another price.
    catalogue.costOf(name, id, { input: 1000, output: 0 }),
    catalogue.costOf(name, id, { input: 0, output: 1000 }),
  ])
  return {
    id,
    provider: name,
    ...(info?.contextWindow !== undefined && { contextWindow: info.contextWindow }),
    ...traitsOf(id),
    ...(input !== undefined && { inputPrice: perMillion(input) }),
    ...(output !== undefined && { outputPrice: perMillion(output) }),
    // That a configured one needs no key does not say that it costs nothing.
    ...(isFree && !isConfigured && { inputPrice: 0, outputPrice: 0 }),
    ...(info?.deprecated && { isDeprecated: true as const }),
  }
}

const perMillion = (price: number): number => Number((price * 1000).toPrecision(6))
