/** What a request comes down to. */
export type Intent =
  | { readonly kind: 'list'; readonly path: string }
  | { readonly kind: 'read'; readonly path: string; readonly lines?: LineRange; readonly isExplained?: true }
  | { readonly kind: 'search'; readonly text: string; readonly path: string }
  | { readonly kind: 'files'; readonly pattern: string; readonly path: string }
  | { readonly kind: 'run'; readonly command: string }
  | { readonly kind: 'test'; readonly command?: string }
  | { readonly kind: 'fix'; readonly command?: string }
  | {
      readonly kind: 'replace'
      readonly from: string
      readonly to: string
      readonly path: string
      readonly isAll: boolean
    }
  | { readonly kind: 'create'; readonly path: string; readonly text: string }
  | { readonly kind: 'append'; readonly path: string; readonly text: string }
  | { readonly kind: 'count'; readonly path: string }
  | { readonly kind: 'changes'; readonly isDiff: boolean }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'notes' }
  | { readonly kind: 'fetch'; readonly url: string }
  | { readonly kind: 'remind'; readonly text: string; readonly seconds: number }
  /** A reminder of before: its time has come. */
  | { readonly kind: 'rung'; readonly text: string }
  | { readonly kind: 'ask'; readonly question: string; readonly options: readonly string[] }
  | { readonly kind: 'recent'; readonly wiki?: string }
  | { readonly kind: 'help' | 'greeting' | 'summary' }
  /** Almost clear: what is missing, as a question. */
  | { readonly kind: 'incomplete'; readonly question: string; readonly like: Kind }

export type Kind = Exclude<Intent['kind'], 'incomplete'>

interface LineRange {
  readonly from: number
  readonly count: number
}

/** One sentence of each kind that is understood for sure, as help and questions show them. */
export const examples: Readonly<Partial<Record<Kind, string>>> = {
  list: 'list the files in src',
  read: 'read package.json',
  search: 'search for TODO in src',
  files: 'find files named *.test.ts',
  run: 'run `npm test`',
  fix: 'fix the failing test',
  replace: 'replace "colour" with "color" in README.md',
  create: 'create notes.txt with "hello"',
  append: 'append "bye" to notes.txt',
  count: 'count the lines in README.md',
  changes: 'what changed',
  note: 'remember to update the changelog',
  notes: 'show the todo list',
  fetch: 'fetch https://example.com/',
  remind: 'remind me in 10 minutes to stretch',
  ask: 'ask me: tea or coffee?',
  recent: 'what is new in the wiki notes',
  summary: 'summarise what you did',
  help: 'what can you do',
}
