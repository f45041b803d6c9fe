import { show } from '../../core/behavior.ts'
import type { Provider, ProviderCapabilities } from '../../core/provider.ts'
import type { CatalogueOverrides } from '../catalogue.ts'
import { checkOptions, isFunction, type OptionRules } from '../options.ts'
import { LazyStream, priceList } from '../service.ts'
import { checkPrices, record, settings, text } from '../service-options.ts'

/** Any language model of the AI SDK as a provider: `aiSdk(anthropic('claude-…'))`. */
export function aiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Provider {
  checkModel(model)
  checkOptions('aiSdk()', options, rules)
  const { name = model.provider, capabilities, prices } = options
  if (prices) checkPrices('aiSdk() option "prices"', prices)
  // Packages name what they speak, too: "anthropic.messages".
  const listed = prices ? priceList(name.split('.', 1)[0]!, prices) : undefined
  const { costOf = listed?.costOf, contextWindow = listed?.contextWindow } = options
  let loaded: Speaker | undefined
  let loading: Promise<Speaker> | undefined
  const load = async (): Promise<Speaker> => {
    const { speaker } = await import('./ai-sdk-model.ts')
    loaded = speaker(model, { ...options, ...(costOf && { costOf }) })
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

/** What is loaded by the first request. */
export type Speaker = Required<Pick<Provider, 'stream' | 'classifyError'>>

/** What we use of a language model of the AI SDK, versions 5 to 7. */
export interface AiSdkModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  doStream(options: object): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}

export interface AiSdkOptions {
  /** Default: what the model calls its provider. */
  readonly name?: string
  readonly capabilities?: ProviderCapabilities
  /** Sent with every request as they are, by provider: `{ openai: { store: false } }`. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Asked first; where it gives `null`, the usual answer counts. */
  readonly classifyError?: NonNullable<Provider['classifyError']>
  /**
   * What the model costs, as for every other provider: `{ models: { 'my-model': { input: 3, output: 15 } } }`, dollars per
   * million tokens; `{}` for what the price list says. Without it and `costOf`, what the model costs is unknown.
   */
  readonly prices?: CatalogueOverrides | false
  /** Dollars for so many tokens of the model, in place of `prices`. */
  readonly costOf?: NonNullable<Provider['costOf']>
  readonly contextWindow?: NonNullable<Provider['contextWindow']>
}

const rules: OptionRules<AiSdkOptions> = {
  name: text,
  capabilities: record,
  providerOptions: record,
  classifyError: [isFunction, 'a function'],
  prices: settings,
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
