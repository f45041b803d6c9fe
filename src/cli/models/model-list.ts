import { visibleName } from '../../platform/visible-text.ts'
import { type Catalogue, createCatalogue } from '../../providers/catalogue.ts'
import type { Config } from '../config/config.ts'
import { type ModelIo, requireKnown } from './choose-model.ts'
import { credentialsPathOf, storedNames, variableOf } from './credentials.ts'
import { askModels } from './local-models.ts'
import { isLoopback, type KnownProvider, knownProviders } from './providers.ts'

/** A model in a list. Unknown fields are absent. */
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
  /** Used if only the provider is named. */
  readonly isDefault?: true
  readonly isDeprecated?: true
}

/**
 * The models of a provider: those that a server of this machine lists, or those in the price list. The default comes
 * first; with `all` also deprecated models and those that do not write text.
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
      ? await askModels(known.baseURL, io, listTimeoutMs)
      : undefined
  // A local server that does not run has no models.
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

/** The names of the providers that need no key or have one; with `all` the others too. */
export async function usableProviders(
  config: Config,
  io: ModelIo,
  { all = false }: { readonly all?: boolean } = {},
): Promise<readonly string[]> {
  const stored = await storedNames(io)
  return [...knownProviders(config).values()]
    .filter((provider) => all || provider.isFree || variableOf(provider, io) || stored.has(provider.name))
    .map(({ name }) => name)
}

const listTimeoutMs = 2000
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
  // No request is made, so any key will do.
  const provider = await known.create({ env: {}, credentialsPath: credentialsPathOf(io), apiKey: 'none' })
  return provider.meta.defaultModel
}

async function describe(
  { name, isFree, isConfigured, facts }: KnownProvider,
  id: string,
  catalogue: Catalogue,
): Promise<ListedModel> {
  const [info, input, output] = await Promise.all([
    catalogue.modelInfo(name, id),
    // A thousand tokens, because larger requests may have another price.
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
    // A configured provider without a key may still cost money.
    ...(isFree && !isConfigured && { inputPrice: 0, outputPrice: 0 }),
    ...(facts?.contextWindow !== undefined && { contextWindow: facts.contextWindow }),
    ...(facts?.price && { inputPrice: facts.price.input, outputPrice: facts.price.output }),
    ...(info?.deprecated && { isDeprecated: true as const }),
  }
}

const perMillion = (price: number): number => Number((price * 1000).toPrecision(6))

/** A table of models for a terminal; empty if there are none. */
export function modelTable(models: readonly ListedModel[]): string[] {
  if (models.length === 0) return []
  const rows = [
    ['model', 'context', 'output', 'thinks', 'in $/M', 'out $/M'],
    ...models.map(
      ({ id, provider, isDefault, isDeprecated, contextWindow, maxOutput, reasoning, inputPrice, outputPrice }) => [
        visibleName(`${provider}/${id}`) + (isDefault ? ' *' : '') + (isDeprecated ? ' (deprecated)' : ''),
        tokens(contextWindow),
        tokens(maxOutput),
        reasoning === undefined ? '' : reasoning ? 'yes' : 'no',
        dollars(inputPrice),
        dollars(outputPrice),
      ],
    ),
  ]
  // Empty columns are left out.
  const columns = rows[0]!.map((_, i) => i).filter((i) => rows.slice(1).some((row) => row[i] !== ''))
  const widths = columns.map((i) => Math.max(...rows.map((row) => row[i]!.length)))
  return rows.map((row) =>
    columns
      .map((i, n) => (n === 0 ? row[i]!.padEnd(widths[n]!) : row[i]!.padStart(widths[n]!)))
      .join('  ')
      .trimEnd(),
  )
}

function tokens(count: number | undefined): string {
  if (count === undefined) return ''
  return count >= 1_000_000 ? `${Number((count / 1_000_000).toFixed(1))}M` : `${Math.round(count / 1000)}k`
}

function dollars(price: number | undefined): string {
  if (price === undefined) return ''
  return price === 0 ? 'free' : price.toFixed(price < 0.1 ? 3 : 2)
}

/** Facts about a model that its name tells and no price list contains. */
export function traitsOf(id: string): { readonly maxOutput?: number; readonly reasoning?: true } {
  const maxOutput = outputs.find(([line]) => line.test(id))?.[1]
  return { ...(maxOutput !== undefined && { maxOutput }), ...(thinks.test(id) && { reasoning: true as const }) }
}

const thinks =
  /\bclaude-(?:3[.-]7|(?:opus|sonnet|haiku)-[4-9]|fable|mythos)|\bo[134](?:-|$)|\bgpt-(?:5|oss)|\bgemini-(?:2\.5|[3-9])|\bdeepseek-(?:r|reasoner)|\bqwen-?3|\bgrok-(?:[4-9]|3-mini)|\bmagistral\b/i

/** The maximum output in tokens, as published by the makers; the first match applies. */
const outputs: readonly (readonly [RegExp, number])[] = [
  [/\bclaude-3[.-]5-/, 8192],
  [/\bclaude-3[.-]7-/, 64_000],
  [/\bclaude-3-(?:haiku|sonnet|opus)/, 4096],
  [/\bclaude-opus-4(?:[.-][01])?(?:-\d{8}|-latest|$)/, 32_000],
  [/\bclaude-(?:sonnet|haiku|opus)-4(?:[.-][05])?(?:-\d{8}|-latest|$)/, 64_000],
  [/\bgpt-4o\b/, 16_384],
  [/\bgpt-4\.1\b/, 32_768],
  [/\bo(?:1|3|3-mini|4-mini)(?:-\d{4}-\d\d-\d\d)?$/, 100_000],
  [/\bgpt-5(?:\.1)?(?:-mini|-nano)?(?:-\d{4}-\d\d-\d\d)?$/, 128_000],
  [/\bgemini-2\.5-(?:pro|flash)/, 65_536],
  [/\bgemini-2\.0-flash/, 8192],
]
