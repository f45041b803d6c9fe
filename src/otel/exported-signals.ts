/** What is exported by the variables of the environment, and what of them cannot be done. */
export interface ExportedSignals {
  readonly traces: boolean
  readonly metrics: boolean
  /** Messages for a person. */
  readonly problems: readonly string[]
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * Reads the usual variables of OpenTelemetry. Nothing is exported unless one names an exporter or an address: programs that
 * set none do not expect traffic.
 */
export function exportedSignals(env: Env): ExportedSignals {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return { traces: false, metrics: false, problems: [] }
  const problems: string[] = []
  const isExported = (signal: 'TRACES' | 'METRICS'): boolean => {
    const problem = problemOf(env, signal)
    if (problem !== undefined) problems.push(problem)
    return problem === undefined && isWanted(env, signal)
  }
  return { traces: isExported('TRACES'), metrics: isExported('METRICS'), problems }
}

const isSet = (value: string | undefined): boolean => value !== undefined && value.trim() !== ''

function isWanted(env: Env, signal: string): boolean {
  const exporter = env[`OTEL_${signal}_EXPORTER`]?.trim()
  if (exporter) return exporter === 'otlp'
  return isSet(env.OTEL_EXPORTER_OTLP_ENDPOINT) || isSet(env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`])
}

function problemOf(env: Env, signal: string): string | undefined {
  const name = `OTEL_${signal}_EXPORTER`
  const exporter = env[name]?.trim() || 'otlp'
  if (exporter !== 'otlp' && exporter !== 'none')
    return `${name} is "${exporter}", which is not supported; set it to otlp or none`
  const protocols = [`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, 'OTEL_EXPORTER_OTLP_PROTOCOL']
  const protocol = protocols.find((one) => isSet(env[one]))
  if (protocol !== undefined && env[protocol]?.trim() === 'grpc' && isWanted(env, signal))
    return `${protocol} is "grpc", which is not supported; set it to http/json and use the collector's HTTP port`
  return undefined
}
