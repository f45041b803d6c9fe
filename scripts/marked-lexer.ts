/**
 * Of marked the page uses the lexer alone, with its usual rules. What a bundler cannot leave out by itself is its end, an
 * instance with all of it, and what other options choose: their rules, which are unused then, and code before them.
 */
export function lexerOf(code: string): string {
  const [, lexer] = /[{,](\w+) as Lexer[,}]/.exec(code) ?? []
  const end = [...code.matchAll(/var \w+=new \w+;function \w+\(/g)].at(-1)?.index
  const [, edit] = /function (\w+)\(\w+,\w+=""\)\{[^}]*replace:/.exec(code) ?? []
  const rules = [...code.matchAll(/\{normal:\w+,gfm:\w+(?:,breaks:(\w+))?,pedantic:(\w+)\}/g)]
  if (lexer === undefined || end === undefined || edit === undefined || rules.length < 2)
    throw new Error('marked has another form now; look at lexerOf')
  const unused = rules.flatMap((names) => names.slice(1).filter(Boolean))
  const used = code
    .slice(0, end)
    .replace(/(\{normal:\w+,gfm:\w+)(?:,breaks:\w+)?,pedantic:\w+\}/g, '$1}')
    .replace(new RegExp(`([ ,;])(${unused.join('|')})=\\{`, 'g'), '$1$2=false&&{')
    .replace(/this\.options\.(?:pedantic|breaks|extensions|hooks)\b/g, 'false')
    .replaceAll('this.options.gfm', 'true')
    .replaceAll(`=${edit}(`, `=/*@__PURE__*/${edit}(`)
  return `${used}export{${lexer} as Lexer};`
}
