/** Why a process must end, or has ended. Each function returns one that stops listening. */
export interface ProcessEvents {
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void
  /** Uncaught errors, which then do not end the process. */
  onCrash(listener: (error: unknown) => void): () => void
  /** The process ends without having restored the terminal. */
  onExit(listener: () => void): () => void
}

export const processEvents: ProcessEvents = {
  onSignal(listener) {
    for (const signal of signals) process.on(signal, listener)
    return () => {
      for (const signal of signals) process.off(signal, listener)
    }
  },
  onCrash(listener) {
    process.on('uncaughtException', listener).on('unhandledRejection', listener)
    return () => void process.off('uncaughtException', listener).off('unhandledRejection', listener)
  },
  onExit(listener) {
    process.on('exit', listener)
    return () => void process.off('exit', listener)
  },
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
