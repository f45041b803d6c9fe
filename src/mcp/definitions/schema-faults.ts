import { fullyVisible } from '../../platform/visible-text.ts'

/** One complaint of the validator. */
export interface Fault {
  readonly keyword: string
  readonly instanceLocation: string
  readonly error: string
}

const mostFaults = 5
const longestText = 1000

/** What a validator found, for a model that has to do better. */
export function faultText(faults: readonly Fault[]): string {
  const telling = faults.filter(({ keyword }) => !outer.has(keyword))
  const texts = new Set((telling.length > 0 ? telling : faults).slice(0, 50).map(sentence))
  const shown = [...texts].slice(0, mostFaults)
  if (texts.size > mostFaults) shown.push(`and ${texts.size - mostFaults} more`)
  return cut(shown.join('; ') || 'it does not match the schema', longestText)
}

/** They only say that something inside is wrong. */
const outer = new Set([
  ...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', '$ref', 'allOf', 'if', 'dependentSchemas'],
])

function sentence({ keyword, instanceLocation, error }: Fault): string {
  return cut(`${placeOf(instanceLocation)} ${fullyVisible(demand(keyword, error))}`, 300)
}

/** The words of a complaint are partly the server's: what looks for something in them begins at the beginning. */
function demand(keyword: string, error: string): string {
  const [, wanted] = /^Instance type "\w+" is invalid\. Expected "(.*)"\.$/s.exec(error) ?? []
  if (keyword === 'type' && wanted) return `must be ${wanted.replaceAll('", "', ' or ')}`
  const [, name] = /^Instance does not have required property "(.*)"\.$/s.exec(error) ?? []
  if (keyword === 'required' && name !== undefined) return `must have the property "${name}"`
  if (keyword === 'enum') return `must be one of ${error.slice(error.indexOf('['), -1)}`
  if (keyword === 'const') return `must be ${error.slice('Instance does not match '.length, -1)}`
  if (keyword === 'false') return 'must not be given'
  if (keyword === 'anyOf') return 'must be one of several things and is none of them'
  return `must be right: ${error}`
}

function placeOf(location: string): string {
  const path = location.slice(2)
  if (path === '') return 'the whole'
  return `"${cut(fullyVisible(decoded(path)), 100)}"`
}

function decoded(path: string): string {
  try {
    return decodeURI(path).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return path
  }
}

const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
