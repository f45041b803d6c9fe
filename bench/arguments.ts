import { argumentCase, argumentOutcome } from '../test/damage/arguments.ts'
import { readAsEngine } from '../test/damage/read-as-engine.ts'
import { countKinds, type Goals } from './counts.ts'
import type { Result } from './measure.ts'

/** What becomes of damaged arguments, kind by kind. */
export async function damagedArguments(): Promise<Result[]> {
  return countKinds(argumentsGoals, (kind, seed) => argumentOutcome(argumentCase(kind, seed), readAsEngine))
}

/** Of a hundred, so many were exact with `jsonrepair`; where fewer are promised, it says why. */
export const argumentsGoals: Goals = {
  'none, compact': 100,
  'none, with spaces': 100,
  truncation: 0,
  'truncation of Python': 0,
  'missing closing braces': 0,
  'surplus closing braces': 0,
  'a missing quote': 0,
  'missing commas': 33.5,
  'trailing commas': 100,
  'lone backslashes': 0,
  'unescaped quotes': 0,
  'unescaped line breaks': 74,
  'unescaped tabs': 76.5,
  'control characters': 0,
  'cut unicode escapes': 0,
  'half a character': 0,
  'single quotes': 100,
  'single quotes, apostrophes not escaped': 86,
  'typographic quotes': 85,
  backticks: 80,
  'Python words': 100,
  'Python literals': 100,
  'Python tuples': 68.5,
  'comments //': 0,
  'comments /* */': 0,
  'comments #': 0,
  'a comment that hides the rest': 0,
  'names without quotes': 100,
  'values without quotes': 21,
  'names and values without quotes': 14.5,
  'a text without quotes that looks like two properties': 0,
  'double encoding': 0,
  'escaped quotes all over': 0,
  'entities of HTML': 27,
  'some entities of HTML': 27,
  'code fences': 100,
  'prose around it': 0,
  'tags around it': 0,
  'a function around it': 45,
  'functions around values': 0, // 1 before, and 9 wrong: it may be a call, or a text without quotes
  'marks without width': 100,
  'NaN and Infinity': 0,
  'misspelt values': 0,
  'a control character in a name': 0,
  'large integers': 32,
  'large integers as text': 32,
  'numbers for a text': 25.5,
  'leading zeros': 55.5,
  'a plus': 0,
  'hexadecimal numbers': 50.5,
  'a property twice': 0,
  'a property twice, the same': 100,
  'two objects': 0,
  'three dots': 0,
  'lists and objects as text': 100,
  'Python lists and objects as text': 20,
  'cut lists and objects as text': 0,
  'numbers and booleans as text': 100,
  'all of it inside one property': 0,
  'null for what is absent': 100,
}
