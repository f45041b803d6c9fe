import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

/** A host as rules compare it: lower case, Punycode, no trailing dot, no brackets. */
export function plainHost(host: string): string {
  const bare = host.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  return bare.includes(':') ? bare.toLowerCase() : domainToASCII(bare) || bare.toLowerCase()
}

/**
 * Whether a host is named by one of the rules: `x.test` is just that host, `*.x.test` any host below it but not itself. A
 * rule with a port, `x.test:8080`, holds for that port only.
 */
export function isNamed(host: string, port: number, rules: readonly string[]): boolean {
  const plain = plainHost(host)
  return rules.some((rule) => matches(rule, plain, port))
}

/** Throws when a rule cannot mean anything, or would mean everything. */
export function checkHostRules(rules: readonly string[], where: string): void {
  for (const rule of rules) {
    const [name] = splitPort(rule)
    const labels = name.replace(/^\*\./, '').replace(/\.$/, '')
    const isAddress = isIP(labels.replace(/^\[(.*)\]$/, '$1')) > 0
    if (!isAddress && (/[*/@\s\\:[\]]/.test(labels) || labels.split('.').includes('')))
      throw new TypeError(
        `${where} has "${rule}", which is no host; write a host such as "docs.example.com" or "*.example.com"`,
      )
  }
}

function matches(rule: string, host: string, port: number): boolean {
  const [name, only] = splitPort(rule)
  if (only !== undefined && only !== port) return false
  if (!name.startsWith('*.')) return plainHost(name) === host
  return host.endsWith(`.${plainHost(name.slice(2))}`)
}

/** An IPv6 address has colons of its own: with a port it stands in brackets. */
function splitPort(rule: string): [name: string, port: number | undefined] {
  const [, name, port] = /^(\[.*\]|[^:]*):(\d+)$/.exec(rule) ?? []
  return name === undefined ? [rule, undefined] : [name, Number(port)]
}
