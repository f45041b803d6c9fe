import { checkedAs } from '../core/is-record.ts'

/** Prices and context windows from an optional package of 0.8 MB, which is loaded when it is first needed. */
export function createCatalogue(overrides?: CatalogueOverrides): Catalogue {
  return catalogueOf(overrides, async () => checkedAs<PriceSource>(await import('@pydantic/genai-prices')))
}

/** The same over any list of prices. */
export function catalogueOf(overrides: CatalogueOverrides = {}, load: () => Promise<PriceSource>): Catalogue {
  const table = checked(overrides.models ?? {})
  let source: PriceSource | undefined
  let loading: Promise<void> | undefined
  let isLoaded = false

  async function read(): Promise<void> {
    try {
      source = await load()
    } catch {
      // The package is not installed: only the overrides are known.
    }
    isLoaded = true
  }

  function lookUp(provider: string, model: string, usage: Record<string, number>, at?: Date): PriceResult | undefined {
    const priced = pricedProvider(provider, model)
    try {
      return (
        (priced && source?.calcPrice(usage, bare(model), { provider: priced, ...(at && { timestamp: at }) })) ??
        undefined
      )
    } catch {
      return undefined
    }
  }

  /** The provider with only this model: searching all its models takes longer than everything else in a turn. */
  function pricedProvider(provider: string, model: string): PricedProvider | undefined {
    if (!source) return undefined
    const byModel = pricedProviders.get(source) ?? new Map<string, PricedProvider | undefined>()
    pricedProviders.set(source, byModel)
    const key = `${provider} ${model}`
    if (!byModel.has(key)) byModel.set(key, find(provider, model))
    return byModel.get(key)
  }

  function providerOf(provider: string): PricedProvider | undefined {
    const providerId = Object.hasOwn(providerIds, provider) ? providerIds[provider] : provider
    const listed = providerId === undefined ? undefined : source?.findProvider({ providerId })
    // The package guesses at unknown names: "my-openai-proxy" would get the prices of OpenAI.
    return listed?.id === providerId ? listed : undefined
  }

  function find(provider: string, model: string): PricedProvider | undefined {
    const listed = providerOf(provider)
    if (!listed) return undefined
    try {
      const priced = source?.calcPrice({}, bare(model), { provider: listed })
      return priced ? { ...listed, models: [priced.model] } : undefined
    } catch {
      return undefined
    }
  }

  function price(
    provider: string,
    model: string,
    tokens: Tokens,
    override: ModelOverride,
    at?: Date,
  ): number | undefined {
    const listed = lookUp(provider, model, asReported(tokens), at)
    // Without a price per token the package gives 0, both for free models and for those it has no price for.
    const isPriced = listed?.model_price.input_mtok !== undefined
    if (!rateKeys.some((key) => override[key] !== undefined)) return isPriced ? listed.total_price : undefined
    return costAt({ ...(listed && ratesOf(listed, tokens)), ...override }, tokens)
  }

  const overrideOf = (provider: string, model: string): ModelOverride => ({
    ...table.get('*'),
    ...table.get(model),
    ...table.get(`${provider}/${model}`),
  })

  return {
    costOf(provider, model, usage, at) {
      const tokens = tokensOf(usage)
      if (overrides.prices === false || !tokens) return undefined
      const override = overrideOf(provider, model)
      if (isLoaded || isLocal(provider) || rateKeys.every((key) => override[key] !== undefined))
        return price(provider, model, tokens, override, at)
      loading ??= read()
      return loading.then(() => price(provider, model, tokens, override, at))
    },
    async modelInfo(provider, model) {
      const known = overrideOf(provider, model).contextWindow
      if (!isLocal(provider) && (known === undefined || !table.has('*'))) await (loading ??= read())
      const { name, context_window, deprecated } = lookUp(provider, model, {})?.model ?? {}
      const contextWindow = known ?? context_window
      const info: ModelInfo = {
        ...(name !== undefined && { name }),
        ...(contextWindow !== undefined && { contextWindow }),
        ...(deprecated !== undefined && { deprecated }),
      }
      return Object.keys(info).length > 0 ? info : undefined
    },
    async models(provider) {
      if (!isLocal(provider)) await (loading ??= read())
      const ids = (providerOf(provider)?.models ?? []).map((model) => (model as { id?: unknown }).id)
      return ids.filter((id) => typeof id === 'string')
    },
  }
}

/** Prices and context windows of models. What is unknown is `undefined`, never an error and never zero. */
export interface Catalogue {
  /** Dollars for one model call. A promise only until the catalogue is loaded. */
  costOf(
    provider: string,
    model: string,
    usage: PricedUsage,
    at?: Date,
  ): number | undefined | Promise<number | undefined>
  modelInfo(provider: string, model: string): Promise<ModelInfo | undefined>
  /** The models that are listed for a provider; it may have others. */
  models(provider: string): Promise<readonly string[]>
}

/** Tokens as a turn counts them: `input` excludes tokens read from or written to the cache. */
export interface PricedUsage {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  /** All tokens written to the cache, however long they are kept. */
  readonly cacheCreation?: number
  /** The part of `cacheCreation` that is kept for an hour, which may cost more. */
  readonly cacheCreation1h?: number
}

export interface ModelInfo {
  readonly name?: string
  readonly contextWindow?: number
  readonly deprecated?: boolean
}

/** Dollars per million tokens, and the context window in tokens. Missing fields come from the catalogue. */
export interface ModelOverride {
  readonly input?: number
  readonly output?: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly cacheWrite1h?: number
  readonly contextWindow?: number
}

export interface CatalogueOverrides {
  /** By model, or by `provider/model`, which takes precedence. `*` is for all others: a service that no list has. */
  readonly models?: Readonly<Record<string, ModelOverride>>
  /** `false`: all costs are unknown, for instance with a subscription. */
  readonly prices?: false
}

/** The part of `@pydantic/genai-prices` that is used. */
export interface PriceSource {
  findProvider(options: { providerId: string }): PricedProvider | undefined
  calcPrice(
    usage: Record<string, number>,
    model: string,
    options: { provider?: PricedProvider; timestamp?: Date },
  ): PriceResult | null
}

interface PricedProvider {
  readonly id: string
  readonly models: readonly unknown[]
}

interface PriceResult {
  readonly total_price: number
  readonly model: { name?: string; context_window?: number; deprecated?: boolean }
  readonly model_price: Readonly<Record<string, Price | undefined>>
}
type Price = number | { base: number; tiers: readonly { start: number; price: number }[] }

/** Shared by all catalogues: what a package lists does not change. */
const pricedProviders = new WeakMap<PriceSource, Map<string, PricedProvider | undefined>>()

/** Names of Gemini models may begin with `models/`. */
const bare = (model: string): string => model.replace(/^models\//, '')

/** Our provider names where the catalogue uses others. Providers with `undefined` run locally and have no prices. */
const providerIds: Readonly<Record<string, string | undefined>> = {
  xai: 'x-ai',
  gemini: 'google',
  vertex: 'google',
  bedrock: 'aws',
  'amazon-bedrock': 'aws',
  moonshot: 'moonshotai',
  kimi: 'moonshotai',
  copilot: 'github-copilot',
  togetherai: 'together',
  'z.ai': 'zai',
  ollama: undefined,
  lmstudio: undefined,
  llamacpp: undefined,
  vllm: undefined,
}

const isLocal = (provider: string): boolean =>
  Object.hasOwn(providerIds, provider) && providerIds[provider] === undefined

const rateKeys = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h'] as const
type Rates = Partial<Record<(typeof rateKeys)[number], number>>
type Tokens = Required<PricedUsage>

function checked(models: Readonly<Record<string, ModelOverride>>): Map<string, ModelOverride> {
  for (const [model, override] of Object.entries(models))
    for (const key of [...rateKeys, 'contextWindow'] as const) {
      const value = override[key]
      if (value === undefined || (Number.isFinite(value) && value >= 0)) continue
      throw new TypeError(`models["${model}"].${key} must be a number of at least 0, got ${String(value)}`)
    }
  return new Map(Object.entries(models))
}

/** `undefined` if a number is not a valid count. */
function tokensOf(usage: PricedUsage): Tokens | undefined {
  const { input, output, cacheRead = 0, cacheCreation = 0, cacheCreation1h = 0 } = usage
  const tokens = { input, output, cacheRead, cacheCreation, cacheCreation1h }
  const isCounted = Object.values(tokens).every((count) => Number.isFinite(count) && count >= 0)
  return isCounted ? { ...tokens, cacheCreation: Math.max(cacheCreation, cacheCreation1h) } : undefined
}

const totalInput = ({ input, cacheRead, cacheCreation }: Tokens): number => input + cacheRead + cacheCreation

/** As the package expects it: each number includes its parts. */
const asReported = (tokens: Tokens): Record<string, number> => ({
  input_tokens: totalInput(tokens),
  output_tokens: tokens.output,
  cache_read_tokens: tokens.cacheRead,
  cache_write_tokens: tokens.cacheCreation,
  cache_write_1h_tokens: tokens.cacheCreation1h,
})

/** The listed prices for a request of this size. */
function ratesOf({ model_price: listed }: PriceResult, tokens: Tokens): Rates {
  const total = totalInput(tokens)
  const rate = (key: string, name: keyof Rates): Rates => {
    const price = listed[key]
    if (price === undefined) return {}
    if (typeof price === 'number') return { [name]: price }
    const tiers = price.tiers.toSorted((a, b) => a.start - b.start)
    return { [name]: tiers.findLast(({ start }) => total > start)?.price ?? price.base }
  }
  return {
    ...rate('input_mtok', 'input'),
    ...rate('output_mtok', 'output'),
    ...rate('cache_read_mtok', 'cacheRead'),
    ...rate('cache_write_mtok', 'cacheWrite'),
    ...rate('cache_write_1h_mtok', 'cacheWrite1h'),
  }
}

/** Cached tokens without a price of their own cost as much as input. */
function costAt(rates: Rates, tokens: Tokens): number | undefined {
  const { input, output } = rates
  if (input === undefined || output === undefined) return undefined
  const { cacheRead = input, cacheWrite = input } = rates
  const { cacheWrite1h = cacheWrite } = rates
  const dollars =
    input * tokens.input +
    output * tokens.output +
    cacheRead * tokens.cacheRead +
    cacheWrite * (tokens.cacheCreation - tokens.cacheCreation1h) +
    cacheWrite1h * tokens.cacheCreation1h
  return dollars / 1_000_000
}
