import { show } from '../../core/behavior.ts'
import type { Provider, ProviderCapabilities } from '../../core/provider.ts'
import type { CatalogueOverrides } from '../catalogue.ts'
import { checkOptions, isFunction, type OptionRules } from '../options.ts'
import { catalogueLookups, LazyStream } from '../service.ts'
import { checkPrices, objectOrFalseRule, objectRule, textRule } from '../service-options.ts'

/** Any language model of the AI SDK as a provider: `aiSdk(anthropic('claude-…'))`. */
export function aiSdk(
  /** The part of a language model of the AI SDK, versions 5 to 7, that is used. */
  model: {
    readonly specificationVersion: 'v2' | 'v3' | 'v4'
    readonly provider: string
    readonly modelId: string
    doStream(options: object): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
  },
  options: AiSdkOptions = {},
): Provider {
  checkModel(model)
  checkOptions('aiSdk()', options, rules)
  const { name = model.provider, capabilities, prices } = options
  if (prices) checkPrices('aiSdk() option "prices"', prices)
  // Packages add the API to the provider's name: "anthropic.messages".
  const listed = prices ? catalogueLookups(name.split('.', 1)[0]!, prices) : undefined
  const { costOf = listed?.costOf, contextWindow = listed?.contextWindow } = options
  let loaded: LoadedModel | undefined
  let loading: Promise<LoadedModel> | undefined
  const load = async (): Promise<LoadedModel> => {
    const { loadedModel } = await import('./ai-sdk-model.ts')
    loaded = loadedModel(model, { ...options, ...(costOf && { costOf }) })
    return loaded
  }
  return {
    meta: { name, defaultModel: model.modelId, ...(capabilities && { capabilities }) },
    stream(request, signal) {
      if (loaded) return loaded.stream(request, signal)
      loading ??= load()
      return new LazyStream(loading.then(({ stream }) => stream(request, signal)[Symbol.asyncIterator]()))
    },
    classifyError: (error) => options.classifyError?.(error) ?? loaded?.classifyError(error) ?? null,
    ...(costOf && { costOf }),
    ...(contextWindow && { contextWindow }),
  }
}

/** The part of the provider that is loaded by the first request. */
export type AiSdkModel = Parameters<typeof aiSdk>[0]

export type LoadedModel = Required<Pick<Provider, 'stream' | 'classifyError'>>

export interface AiSdkOptions {
  /** Default: the model's own name of its provider. */
  readonly name?: string
  readonly capabilities?: ProviderCapabilities
  /** Sent unchanged with every request, by provider: `{ openai: { store: false } }`. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Called first; if it returns `null`, the built-in classification is used. */
  readonly classifyError?: NonNullable<Provider['classifyError']>
  /**
   * Prices, as for every other provider: `{ models: { 'my-model': { input: 3, output: 15 } } }`, dollars per
   * million tokens; `{}` uses the price list. Without `prices` and `costOf` the cost is unknown.
   */
  readonly prices?: CatalogueOverrides | false
  /** The cost in dollars, in place of `prices`. */
  readonly costOf?: NonNullable<Provider['costOf']>
  readonly contextWindow?: NonNullable<Provider['contextWindow']>
}

const rules: OptionRules<AiSdkOptions> = {
  name: textRule,
  capabilities: objectRule,
  providerOptions: objectRule,
  classifyError: [isFunction, 'a function'],
  prices: objectOrFalseRule,
  costOf: [isFunction, 'a function'],
  contextWindow: [isFunction, 'a function'],
}

function checkModel(model: AiSdkModel): void {
  if (typeof model?.doStream !== 'function' || typeof model.modelId !== 'string')
    throw new TypeError(
      `aiSdk() takes a language model object, for instance anthropic('claude-…') of @ai-sdk/anthropic; got ${show(model)}`,
    )
  if (!['v2', 'v3', 'v4'].includes(model.specificationVersion))
    throw new TypeError(
      `aiSdk() knows models of the specifications v2, v3 and v4; "${model.modelId}" has ` +
        `${show(model.specificationVersion)}: take another version of its package`,
    )
}
