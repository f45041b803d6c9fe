import { isRecord } from '../core/is-record.ts'
import type { CatalogueOverrides, ModelOverride } from './catalogue.ts'
import { checkOptions, clockRule, isFunction, type OptionRule, type OptionRules } from './options.ts'
import type { ServiceOptions } from './service.ts'

/**
 * Throws on wrong options. `ownHeaders` are the headers that the provider sets itself, each with the option to use in place of
 * `headers`: if `headers` set such a header too, the service would refuse the request or use the wrong value.
 */
export function checkServiceOptions<Options extends ServiceOptions>(
  where: string,
  options: Options,
  rules: OptionRules<Options>,
  ownHeaders: Readonly<Record<string, string>> = { authorization: 'apiKey' },
): void {
  if (holdsPassword(options?.baseURL))
    throw new TypeError(
      `${where} option "baseURL" must not hold a user name or a password; they would be written to logs`,
    )
  checkOptions(where, options, rules)
  const { headers, prices } = options
  if (prices) checkPrices(`${where} option "prices"`, prices)
  for (const name of Object.keys(headers ?? {})) {
    const lowerCased = name.toLowerCase()
    if (Object.hasOwn(ownHeaders, lowerCased))
      throw new TypeError(`${where} option "headers" must not hold "${name}"; pass it as ${ownHeaders[lowerCased]}`)
  }
}

/** Also for an invalid address, which the error message would show. */
const holdsPassword = (address: unknown): boolean => isText(address) && /^[^/]*\/\/[^/?#]*@/.test(address)

/** Throws on wrong prices. */
export function checkPrices(where: string, prices: CatalogueOverrides): void {
  checkOptions(where, prices, { models: objectRule, prices: [(value) => value === false, 'false'] })
  for (const [model, override] of Object.entries(prices.models ?? {}))
    checkOptions(`${where} for "${model}"`, override, modelRules)
}

const amount: OptionRule = [(value) => Number.isFinite(value) && Number(value) >= 0, 'a number of at least 0']

const modelRules: OptionRules<ModelOverride> = {
  input: amount,
  output: amount,
  cacheRead: amount,
  cacheWrite: amount,
  cacheWrite1h: amount,
  contextWindow: amount,
}

export const textRule: OptionRule = [(value) => typeof value === 'string' && value !== '', 'a text']
export const flagRule: OptionRule = [(value) => typeof value === 'boolean', 'true or false']
export const objectRule: OptionRule = [isRecord, 'an object']
export const textsRule: OptionRule = [(value) => Array.isArray(value) && value.every(isText), 'a list of texts']

/** The rule for options called `oauth`. */
export const endpointsRule: OptionRule = [
  (value) => isRecord(value) && [value.clientId, value.authorizeUrl, value.tokenUrl].every(isText),
  'an object with clientId, authorizeUrl and tokenUrl',
]

const secret: OptionRule = [isText, 'a text', 'secret']
export const objectOrFalseRule: OptionRule = [(value) => value === false || isRecord(value), 'an object or false']

/** The rules for the options that all services share. */
export const serviceRules: OptionRules<ServiceOptions> = {
  apiKey: secret,
  access: secret,
  refresh: secret,
  expires: [(value) => Number.isFinite(value), 'a time in ms since the epoch'],
  accountId: textRule,
  onRefresh: [isFunction, 'a function'],
  credentialsPath: [(value) => value === false || (isText(value) && value !== ''), 'a path or false'],
  env: objectRule,
  baseURL: [isAddress, 'an http or https address, such as "https://example.com/v1"'],
  defaultModel: textRule,
  headers: [
    (value) => isRecord(value) && Object.values(value).every(isText),
    'an object whose values are texts',
    'secret',
  ],
  extraBodyParams: objectRule,
  fetch: [isFunction, 'a function'],
  transport: [isFunction, 'a function'],
  retry: objectOrFalseRule,
  watchdog: objectOrFalseRule,
  prices: objectOrFalseRule,
  maxReplyBytes: [(value) => Number.isFinite(value) && Number(value) >= 0, 'a number of bytes (0 = no limit)'],
  clock: clockRule,
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isAddress(value: unknown): boolean {
  const url = isText(value) ? URL.parse(value) : null
  return url !== null && /^https?:$/.test(url.protocol) && url.hash === ''
}
