/**
 * The fields of front matter that says nothing but `key: words`, as nearly all of it does, exactly as YAML has them;
 * undefined where there is anything else. It spares the loading of a parser and most of the time to find many skills.
 */
export function plainFields(yaml: string): Map<string, unknown> | undefined {
  const fields = new Map<string, unknown>()
  let nested: Map<string, unknown> | undefined
  for (const line of yaml.split('\n')) {
    if (line === '') continue
    const [, indent = '', key = '', rest = ''] = fieldLine.exec(line) ?? []
    if (key === '') return undefined
    const target = indent === '' ? fields : nested
    const value = rest === '' ? '' : plainValue(rest)
    if (!target || target.has(key) || value === undefined) return undefined
    if (indent === '') nested = undefined
    if (rest !== '') target.set(key, value)
    else if (indent === '' && key === 'metadata') fields.set(key, (nested = new Map()))
    else return undefined
  }
  const metadata = fields.get('metadata')
  return metadata instanceof Map && metadata.size === 0 ? undefined : fields
}

const fieldLine = /^( {2})?([a-z][a-z0-9-]{0,40}):(?: (.*))?$/

/** Printable ASCII that can mean nothing else, in quotes or not. */
function plainValue(text: string): string | undefined {
  const value = text.trim()
  const [, double, single] = /^(?:"([^"\\]*)"|'([^']*)')$/.exec(value) ?? []
  if (/[^ -~]/.test(value)) return undefined
  if (double !== undefined || single !== undefined) return double ?? single
  return /^[A-Za-z0-9]/.test(value) && !/: |:$| #/.test(value) ? value : undefined
}
