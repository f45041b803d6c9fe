import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import cpp from 'highlight.js/lib/languages/cpp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import go from 'highlight.js/lib/languages/go'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import markdown from 'highlight.js/lib/languages/markdown'
import python from 'highlight.js/lib/languages/python'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import type { CodeSpan } from './highlight.ts'

/** Finds the colours of code, where a slow text holds nothing up. It gives pieces of text, never HTML. */

const languages = {
  bash,
  cpp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
}
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language)

interface HighlightQuestion {
  readonly id: number
  readonly code: string
  readonly language: string
}

export interface HighlightAnswer {
  readonly id: number
  readonly spans?: readonly CodeSpan[]
}

interface ScopeNode {
  readonly scope?: string
  readonly children: readonly (ScopeNode | string)[]
}

addEventListener('message', ({ data: { id, code, language } }: MessageEvent<HighlightQuestion>) => {
  if (!hljs.getLanguage(language)) return postMessage({ id } satisfies HighlightAnswer)
  const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true })
  const spans: [string, string][] = []
  collect((_emitter as unknown as { rootNode: ScopeNode }).rootNode, '', spans)
  postMessage({ id, spans } satisfies HighlightAnswer)
})

/** The innermost scope counts; of `title.function` its first word. */
function collect({ scope, children }: ScopeNode, outer: string, spans: [string, string][]): void {
  const own = scope === undefined || scope.startsWith('language:') ? outer : scope.split('.')[0]!
  for (const child of children) {
    const last = spans.at(-1)
    if (typeof child !== 'string') collect(child, own, spans)
    else if (last?.[0] === own) last[1] += child
    else spans.push([own, child])
  }
}
