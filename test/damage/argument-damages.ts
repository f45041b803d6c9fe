import type { JsonSchema } from '../../src/core/tool.ts'
import type { Sample } from './arguments-samples.ts'
import { deceptiveText } from './deceptive-texts.ts'
import type { Random } from './random.ts'
import { pythonString, quotedWith, write } from './write-arguments.ts'

/** Arguments as they arrive, and what they should become; `meant` is `undefined` where only a refusal is right. */
export interface Damaged {
  readonly text: string
  readonly meant: Record<string, unknown> | undefined
  /** Where it is not that of the sample. */
  readonly schema?: JsonSchema
  /** The damage shows only in what the schema says; it is JSON all the same. */
  readonly isJson?: true
}

/** Damages arguments; `undefined` where there is nothing of the kind to damage. */
export type Damage = (sample: Sample, random: Random) => Damaged | string | undefined

/** Every kind of damage. A string is the damaged text of arguments that are meant as they were. */
export const argumentDamages: Readonly<Record<string, Damage>> = {
  'none, compact': ({ value }) => ({ text: JSON.stringify(value), meant: value, isJson: true }),
  'none, with spaces': ({ value }) => ({ text: JSON.stringify(value, null, 1), meant: value, isJson: true }),

  truncation: ({ value }, random) => {
    const text = write(value)
    return text.slice(0, 1 + random.below(text.length - 1))
  },
  'truncation of Python': ({ value }, random) => {
    const text = python(value)
    return text.slice(0, 1 + random.below(text.length - 1))
  },
  'missing closing braces': ({ value }, random) => write(value).replace(random.chance(50) ? /\}$/ : /[}\]]+$/, ''),
  'surplus closing braces': ({ value }, random) => write(value) + random.pick(['}', ']', '}}', ' }', '}"']),
  'a missing quote': ({ value }, random) => without(write(value), '"', random),
  'missing commas': ({ value }, random) => without(write(value), ',', random),
  'trailing commas': ({ value }) => write(value, { lastComma: ',' }),

  'lone backslashes': ({ value }) => write(value).replaceAll('\\\\', '\\'),
  'unescaped quotes': ({ value }) => write(value).replaceAll('\\"', '"'),
  'unescaped line breaks': ({ value }) => write(value).replaceAll('\\n', '\n').replaceAll('\\r', '\r'),
  'unescaped tabs': ({ value }) => write(value).replaceAll('\\t', '\t'),
  'control characters': ({ value }) =>
    write(value).replace(/\\u00([01][\da-f])/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
  'cut unicode escapes': ({ value }, random) => {
    const text = write(value).replace(
      /[^\x20-\x7e]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    const at = random.pick([...text.matchAll(/\\u/g)].map(({ index }) => index).concat(-1))
    return at < 0 ? undefined : text.slice(0, at + 2 + random.below(4)) + text.slice(at + 6)
  },
  'half a character': ({ value }) => {
    const text = write(value).replace(/\p{Emoji_Presentation}/gu, '\\ud83d')
    return text === write(value) ? undefined : { text, meant: undefined, isJson: true }
  },

  'single quotes': ({ value }) => write(value, { string: quotedWith("'") }),
  'single quotes, apostrophes not escaped': ({ value }) =>
    write(value, { string: (text) => `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')}'` }),
  'typographic quotes': ({ value }) => write(value, { string: quotedWith('“', '”') }),
  backticks: ({ value }) => write(value, { string: quotedWith('`') }),
  'Python words': ({ value }) => write(value, { words: pythonWords }),
  'Python literals': ({ value }) => python(value),
  'Python tuples': ({ value }) =>
    write(value, { string: pythonString, words: pythonWords, list: ['(', ',)'] }).replaceAll('(,)', '()'),

  'comments //': ({ value }) => write(value, { comma: () => ", // it's a note }\n" }),
  'comments /* */': ({ value }) => `/* "args" */ ${write(value, { comma: () => ", /* don't } */ " })}`,
  'comments #': ({ value }) => write(value, { comma: () => ', # a note: {"x"}\n' }),
  'a comment that hides the rest': ({ value }, random) =>
    write(value, { comma: () => random.pick([', // note ', ', # ']) }),

  'names without quotes': ({ value }) => write(value, { key: (name) => name }),
  'values without quotes': ({ value }, random) => {
    const strings = Object.keys(value).filter(
      (key) => typeof value[key] === 'string' && isWritable(value[key] as string),
    )
    if (strings.length === 0) return undefined
    const bare = random.pick(strings)
    return write(value, { propertyString: (text) => (text === value[bare] ? text : JSON.stringify(text)) })
  },
  'names and values without quotes': ({ value }) => {
    const propertyString = (text: string): string => (isWritable(text) ? text : JSON.stringify(text))
    return Object.values(value).some((one) => typeof one === 'string' && isWritable(one))
      ? write(value, { key: (name) => name, propertyString })
      : undefined
  },
  'a text without quotes that looks like two properties': (_, random) => deceptiveText(random),

  'double encoding': ({ value }, random) => ({
    text: layered(JSON.stringify(value), 1 + random.below(2)),
    meant: value,
    isJson: true,
  }),
  'escaped quotes all over': ({ value }) => JSON.stringify(JSON.stringify(value)).slice(1, -1),
  'entities of HTML': ({ value }) =>
    write(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
  'some entities of HTML': ({ value }) => write(value).replace(/"/g, '&quot;'),
  'code fences': ({ value }, random) =>
    random.pick([`\`\`\`json\n${write(value)}\n\`\`\``, `\`\`\`\n${write(value)}\`\`\``]),
  'prose around it': ({ value }, random) =>
    random.pick([
      `Here are the arguments: ${write(value)}`,
      `${write(value)}\nThat is all.`,
      `I'll call {it}: ${write(value)}`,
    ]),
  'tags around it': ({ value }, random) =>
    random.pick([
      `<arguments>${write(value)}</arguments>`,
      `${write(value)}</tool_call>`,
      `<args x="1">${write(value)}`,
    ]),
  'a function around it': ({ value }, random) => random.pick([`save(${write(value)})`, `tools.save(${write(value)});`]),
  'functions around values': ({ value }, random) =>
    write(value, {
      string: (text) => JSON.stringify(text),
      propertyString: (text) =>
        `${random.pick(['str', 'echo', 'Path'])}(${random.chance(50) ? JSON.stringify(text) : text})`,
    }),
  'marks without width': ({ value }, random) =>
    random.pick(['\uFEFF', '\u200B']) + write(value, { comma: () => random.pick([',\u00A0', ', \u200B']) }),

  'NaN and Infinity': ({ value }, random) =>
    hasNumber(value)
      ? {
          text: write(value, { number: () => random.pick(['NaN', 'Infinity', '-Infinity', 'nan', 'undefined']) }),
          meant: undefined,
        }
      : undefined,
  'misspelt values': ({ value }, random) => {
    const misspelt = (word: string): string => {
      const at = 1 + random.below(word.length - 2)
      return random.pick([
        word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2),
        word.slice(0, at) + word.slice(at + 1),
        word.slice(0, -1),
      ])
    }
    const text = write(value, { words: [misspelt('true'), misspelt('false'), misspelt('null')] })
    return text === write(value) ? undefined : { text, meant: undefined }
  },
  'a control character in a name': ({ value }, random) => {
    const keys = Object.keys(value)
    if (keys.length === 0) return undefined
    const key = random.pick(keys)
    const broken = key.slice(0, 1) + random.pick(['\n', '\t', '\0']) + key.slice(1)
    return { text: write(value).replace(JSON.stringify(key), `"${broken}"`), meant: undefined }
  },
  'large integers': (_, random) => {
    const digits = random.pick(largeIntegers)
    return {
      text: `{"n": ${digits}}`,
      meant: exactly('n', digits),
      schema: { properties: { n: { type: 'integer' } } },
      isJson: true,
    }
  },
  'large integers as text': (_, random) => {
    const digits = random.pick(largeIntegers)
    return {
      text: `{"n": "${digits}"}`,
      meant: exactly('n', digits),
      schema: { properties: { n: { type: 'number' } } },
      isJson: true,
    }
  },
  'numbers for a text': (_, random) => {
    const source = random.pick(numbersForText)
    return {
      text: `{"v": ${source}}`,
      meant: { v: source },
      schema: { properties: { v: { type: 'string' } } },
      isJson: true,
    }
  },
  'numbers for a text inside one property': (_, random) => {
    const source = random.pick(numbersForText)
    return {
      text: `{"${random.pick(['arguments', 'parameters', 'args'])}": {"v": ${source}}}`,
      meant: { v: source },
      schema: { properties: { v: { type: 'string' } } },
      isJson: true,
    }
  },
  'large numbers with a fraction': (_, random) => largeNumber(random.pick(largeFractions), random),
  'large numbers with an exponent': (_, random) => {
    const digits = random.pick(largeIntegers)
    const zeros = random.below(3)
    const written = random.pick([`${digits}e0`, `${digits}${'0'.repeat(zeros)}e-${zeros}`, `${digits}.0E+${zeros}`])
    return largeNumber(written, random)
  },
  'leading zeros': ({ value }) =>
    hasNumber(value) ? write(value, { number: (one) => String(one).replace(/^-?/, '$&0') }) : undefined,
  'a plus': ({ value }) =>
    hasNumber(value) ? write(value, { number: (one) => (one >= 0 ? `+${one}` : `${one}`) }) : undefined,
  'hexadecimal numbers': ({ value }) =>
    hasNumber(value)
      ? write(value, { number: (one) => (Number.isInteger(one) && one >= 0 ? `0x${one.toString(16)}` : `${one}`) })
      : undefined,

  'a property twice': ({ value }, random) => {
    const [key] = Object.keys(value)
    if (key === undefined) return undefined
    const again = `${JSON.stringify(key)}: ${random.pick(['"other"', '-1', 'null'])}`
    const text = random.chance(50)
      ? write(value).replace('{', `{${again}, `)
      : write(value).replace(/\}$/, `, ${again}}`)
    return { text, meant: undefined, isJson: true }
  },
  'a property twice, the same': ({ value }) => {
    const [key] = Object.keys(value)
    if (key === undefined) return undefined
    return {
      text: write(value).replace(/\}$/, `, ${JSON.stringify(key)}: ${write(value[key])}}`),
      meant: value,
      isJson: true,
    }
  },
  'two objects': ({ value }, random) => ({
    text: write(value) + random.pick(['', '\n', ', ']) + random.pick(['{}', '{"command": "ls"}']),
    meant: undefined,
  }),
  'three dots': ({ value }, random) => ({
    text: write(value).replace(/\}$/, random.pick([', ...}', ' ... }', ', …}'])),
    meant: undefined,
  }),

  'lists and objects as text': ({ value }) => nestedAsText(value, JSON.stringify),
  'Python lists and objects as text': ({ value }) => nestedAsText(value, python),
  'cut lists and objects as text': ({ value }, random) =>
    nestedAsText(value, (one) => {
      const text = python(one)
      return text.slice(0, random.below(text.length))
    }),
  'numbers and booleans as text': ({ value }) => ({
    text: write(
      Object.fromEntries(
        Object.entries(value).map(([key, one]) => [
          key,
          typeof one === 'number' || typeof one === 'boolean' ? String(one) : one,
        ]),
      ),
    ),
    meant: value,
    isJson: true,
  }),
  'all of it inside one property': ({ value }, random) => ({
    text: write({ [random.pick(['arguments', 'parameters', 'args'])]: value }),
    meant: value,
    isJson: true,
  }),
  'null for what is absent': ({ value, schema }) => {
    const absent = Object.keys(schema.properties as object).filter((key) => !(key in value))
    return {
      text: write({ ...value, ...Object.fromEntries(absent.map((key) => [key, null])) }),
      meant: value,
      isJson: true,
    }
  },
}

const numbersForText = ['3.10', '1.0', '42', '-0.5', '1e3', '10.50', '0.10', '9007199254740993']

/** None of them is a number of JavaScript, and rounding makes integers of some. */
const largeFractions = ['9007199254740993.5', '-9007199254740992.25', '4503599627370497.75', '1.00000000000000000001']

const largeIntegers = [
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '-12345678901234567890',
  '100000000000000000000001',
]

/** A number that JavaScript has, or writes with the same digits. */
const exactly = (name: string, digits: string): Record<string, unknown> | undefined =>
  BigInt(Number(digits)) === BigInt(digits) || String(Number(digits)) === digits
    ? { [name]: Number(digits) }
    : undefined

/** As a number or as text. It is meant as what it stands for, or as nothing if JavaScript has no such number. */
function largeNumber(written: string, random: Random): Damaged {
  const [, digits, fraction = '', exponent = '0'] = /^(-?\d+)(?:\.(\d+))?(?:e(.+))?$/i.exec(written)!
  const shift = Number(exponent)
  const whole = shift < 0 ? digits!.slice(0, shift) : digits! + '0'.repeat(shift)
  return {
    text: random.pick([`{"n": ${written}}`, `{"n": "${written}"}`]),
    meant: /[1-9]/.test(fraction) ? undefined : exactly('n', whole),
    schema: { properties: { n: { type: 'integer' } } },
    isJson: true,
  }
}

const pythonWords = ['True', 'False', 'None'] as const
const python = (value: unknown): string => write(value, { string: pythonString, words: pythonWords })

function without(text: string, mark: string, random: Random): string | undefined {
  const places = [...text.matchAll(new RegExp(mark, 'g'))].map(({ index }) => index)
  if (places.length === 0) return undefined
  const at = random.pick(places)
  return text.slice(0, at) + text.slice(at + 1)
}

/** Where quotes are left out, spaces at the ends cannot be seen, and some texts are values themselves. */
const isWritable = (text: string): boolean =>
  text.trim() === text && !/^(?:|null|true|None|NaN|[\d.]+(?:e\d+)?|["'[{].*)$/s.test(text)

const layered = (text: string, layers: number): string =>
  layers === 0 ? text : layered(JSON.stringify(text), layers - 1)

const hasNumber = (value: Record<string, unknown>): boolean =>
  Object.values(value).some((one) => typeof one === 'number')

function nestedAsText(value: Record<string, unknown>, written: (one: unknown) => string): Damaged | undefined {
  const isNested = (one: unknown): boolean => typeof one === 'object' && one !== null
  if (!Object.values(value).some(isNested)) return undefined
  const entries = Object.entries(value).map(([key, one]) => [key, isNested(one) ? written(one) : one])
  return { text: write(Object.fromEntries(entries)), meant: value, isJson: true }
}
