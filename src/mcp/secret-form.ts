import type { ElicitRequestFormParams } from '@modelcontextprotocol/client'
import { isRecord } from '../core/is-record.ts'
import { secretShapesIn } from '../platform/secret-shapes.ts'
import { fullyVisible } from '../platform/visible-text.ts'

/** A server's form asks for a secret, or an answer contains one. The protocol forbids both: such answers belong on a page of the server. */
export class SecretFormError extends Error {}

/** Throws if a form asks for a secret: in its message, or by the name, title or description of a field that is typed in. */
export function refuseSecretForm({ message, requestedSchema }: ElicitRequestFormParams): void {
  const typed = Object.entries(requestedSchema.properties ?? {}).filter(([, schema]) => isTyped(schema))
  const texts = typed.map(([, schema]) => isText(schema))
  // Words of the message may be about something else, so there the name of the secret must be complete.
  const inMessage = texts.includes(true) ? secretIn(message, secretNames) : undefined
  const found =
    inMessage ?? typed.map(([name, schema]) => secretOfField(name, schema)).find((word) => word !== undefined)
  if (found !== undefined)
    throw new SecretFormError(
      `The form was not shown to the user, because it asks for a secret ("${found}"). Forms must not ask for secrets: ask for it in url mode, on a page of the server, or read it from the configuration of the server`,
    )
}

/** Throws if the answer to a field contains a secret, whatever the field was called. */
export function refuseSecretAnswer(name: string, value: unknown): void {
  if (typeof value !== 'string' || secretShapesIn(value).length === 0) return
  throw new SecretFormError(
    `The answer to "${fullyVisible(name.slice(0, 100))}" was not sent, because it looks like a key or a token. Forms must not ask for secrets: use url mode`,
  )
}

/** Whether a person types the answer. A choice between given values reveals no secret. */
function isTyped(schema: unknown): boolean {
  if (!isRecord(schema)) return true
  const list = isRecord(schema.items) ? schema.items : schema
  return schema.type !== 'boolean' && ![list.enum, list.oneOf, list.anyOf].some(Array.isArray)
}

const isText = (schema: unknown): boolean => isRecord(schema) && !isNumber(schema)
const isNumber = ({ type }: Readonly<Record<string, unknown>>): boolean => type === 'number' || type === 'integer'

function secretOfField(name: string, schema: unknown): string | undefined {
  const { title, description } = isRecord(schema) ? schema : {}
  const names = isRecord(schema) && isNumber(schema) ? secretNumbers : secretWords
  for (const text of [name, title, description]) {
    const found = typeof text === 'string' ? secretIn(text, names) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** The words of a text that name a secret; not those that name something about one, such as `token limit`. */
function secretIn(text: string, names: RegExp): string | undefined {
  for (const match of words(text).matchAll(names)) if (!isAboutSecret(match)) return match[0].trim()
  return undefined
}

const isAboutSecret = ({ index, input, 0: found }: RegExpExecArray): boolean =>
  /^ (?:name|id|type|kind|count|limit|budget|usage|length|policy|expiry|expiration|reset|manager)s?(?![a-z])/.test(
    input.slice(index + found.length),
  ) || /(?:max|min|maximum|minimum|number of|how many|count of) $/.test(input.slice(Math.max(0, index - 20), index))

/** In lower case, one blank between words: `apiKey`, `API_KEY` and `ＡＰＩ key` are `api key`. */
function words(text: string): string {
  return visible(text)
    .slice(0, longest)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
}

const longest = 20_000

const visible = (text: string): string => text.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')

const numbers =
  'pin(?: code| number)?|otp|one time (?:code|password)|2fa(?: code)?|mfa(?: code)?|cvv|cvc|card number|social security number|ssn'
const complete = [
  'pass ?words?|pass ?phrases?|pass ?codes?|passwd|pwd',
  '(?:api|access|private|secret|signing|encryption|ssh|pgp|gpg|service account|account) ?keys?',
  '(?:api|access|auth|bearer|refresh|session|oauth|personal access|authentication|authorization|login|bot|github|id) ?tokens?',
  '(?:client|app|shared|api|webhook) ?secrets?',
  '(?:seed|recovery|mnemonic) ?(?:phrase|words|code)s?|private ?seed',
  'login ?credentials?|(?:session|auth) ?cookies?',
  numbers,
  // The commonest words of other languages.
  'passwort|kennwort|mot de passe|contraseña|senha|wachtwoord|hasło|пароль|密码|密碼|パスワード|비밀번호',
].join('|')
const bounded = (names: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])(?:${names})(?![a-z0-9])`, 'gu')

const secretNames = bounded(complete)
const secretNumbers = bounded(`${numbers}|pass ?codes?|pass ?words?`)
const secretWords = bounded(`${complete}|secrets?|tokens?|credentials?|cookies?`)
