/** Reads a profile for `sandbox-exec` and tells what it decides: of the rules that fit, the last one counts. */
export interface SeatbeltRules {
  allows(operation: string, subject: string): boolean
}

type Form = string | Form[]

export function seatbeltRules(profile: string): SeatbeltRules {
  const rules = formsOf(profile).flatMap((form) => {
    if (!Array.isArray(form)) throw new Error(`not a rule: ${form}`)
    const [verdict, ...rest] = form
    if (verdict !== 'allow' && verdict !== 'deny') return []
    const operations = rest.filter((one): one is string => typeof one === 'string')
    const filters = rest.filter((one): one is Form[] => Array.isArray(one))
    return [{ isAllow: verdict === 'allow', operations, filters }]
  })
  return {
    allows(operation, subject) {
      const fitting = rules.filter(
        ({ operations, filters }) =>
          operations.some((one) => fits(one, operation)) &&
          (filters.length === 0 || filters.some((filter) => matches(filter, subject))),
      )
      return fitting.at(-1)?.isAllow ?? false
    },
  }
}

function fits(named: string, operation: string): boolean {
  if (named === 'default') return true
  return named.endsWith('*') ? operation.startsWith(named.slice(0, -1)) : named === operation
}

function matches([kind, ...values]: Form[], subject: string): boolean {
  const value = String(values.at(-1))
  switch (kind) {
    case 'literal':
    case 'global-name':
    case 'ipc-posix-name':
      return subject === value
    case 'subpath':
      return subject === value || subject.startsWith(`${value}/`)
    case 'regex':
      return new RegExp(value).test(subject)
    case 'remote':
    case 'local':
      return value === '*:*' ? /^[\w.]+:\d+$/.test(subject) : subject === value
    case 'target':
      return subject === value
    default:
      throw new Error(`unknown filter ${String(kind)}`)
  }
}

/** The forms of a profile; throws if a bracket or a quote is missing. */
function formsOf(text: string): Form[] {
  const tokens = text.replace(/^;.*$/gm, '').match(/#"[^"]*"|"(?:\\.|[^"\\])*"|[()]|[^\s()"]+|"/g) ?? []
  const stack: Form[][] = [[]]
  for (const token of tokens) {
    if (token === '"') throw new Error('a quote is missing')
    if (token === '(') stack.push([])
    else if (token === ')') {
      const form = stack.pop()
      const outer = stack.at(-1)
      if (!form || !outer) throw new Error('a bracket too many')
      outer.push(form)
    } else if (token.startsWith('#"')) stack.at(-1)?.push(token.slice(2, -1))
    else stack.at(-1)?.push(token.startsWith('"') ? token.slice(1, -1).replace(/\\(.)/g, '$1') : token)
  }
  if (stack.length !== 1) throw new Error('a bracket is missing')
  return stack[0] ?? []
}
