import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Lexer } from 'marked'
import { expect, test } from 'vitest'
import { lexerOf } from '../../scripts/marked-lexer.ts'
import { hostileTexts } from './hostile-texts.ts'

test('WB60 the part of marked that the page loads reads every text as the whole does', async () => {
  const whole = readFileSync(createRequire(import.meta.url).resolve('marked'), 'utf8')
  const part = lexerOf(whole)
  expect(part).not.toMatch(/this\.options\.(?:pedantic|gfm)|pedantic:\w+\}/)
  const cut = (await import(`data:text/javascript,${encodeURIComponent(part)}`)) as { readonly Lexer: typeof Lexer }
  const docs = readdirSync('docs').filter((name) => name.endsWith('.md'))
  for (const text of [...hostileTexts, ...docs.map((name) => readFileSync(`docs/${name}`, 'utf8'))])
    expect(new cut.Lexer({ gfm: true }).lex(text)).toEqual(new Lexer({ gfm: true }).lex(text))
})
