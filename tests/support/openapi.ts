/** Holds REST exchanges against GitHub's own OpenAPI description, of which the fixture is a slice. */

import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { Answer, Received } from './http-exchange.ts'

/** Says what in an exchange breaks the description; calls that it does not describe break nothing. */
export type OpenApiCheck = (request: Received, answer: Answer | undefined) => readonly string[]

type Schema = Readonly<Record<string, unknown>>
type Content = { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }

type Parameter = {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Schema
}

type Operation = {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

type Description = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }

const url = new URL('../fixtures/openapi-slice.json', import.meta.url)

export const createOpenApiCheck = (): OpenApiCheck => {
  const description = JSON.parse(readFileSync(url, 'utf8')) as Description
  const templates = Object.entries(description.paths).map(([template, operations]) => ({
    // `{issue_number}` becomes a named group.
    path: new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
    operations,
  }))
  const validators = createValidators()
  return (request, answer) => {
    for (const { path, operations } of templates) {
      const match = path.exec(request.path)
      const operation = operations[request.method.toLowerCase()]
      if (match === null || operation === undefined) continue
      const broken = [
        ...parameterViolations(validators, operation, request, match.groups ?? {}),
        ...bodyViolations(validators, 'request body', operation.requestBody, request.bytes),
        ...(answer === undefined ? [] : answerViolations(validators, operation, answer)),
      ]
      return broken.map((violation) => `${request.method} ${request.path}: ${violation}`)
    }
    return []
  }
}

/** Parameters arrive as text and are coerced; bodies are typed and must be right as they are. */
type Validators = {
  readonly parameter: (schema: Schema) => ValidateFunction
  readonly body: (schema: Schema) => ValidateFunction
}

const createValidators = (): Validators => {
  const options = { strict: false, allErrors: true, logger: false } as const
  const parameters = addFormats.default(new Ajv({ ...options, coerceTypes: true }))
  const bodies = addFormats.default(new Ajv(options))
  return {
    parameter: (schema) => parameters.compile({ type: 'object', properties: { value: schema } }),
    body: (schema) => bodies.compile(schema),
  }
}

const parameterViolations = (
  validators: Validators,
  operation: Operation,
  request: Received,
  path: Readonly<Record<string, string>>,
): readonly string[] => {
  const described = operation.parameters ?? []
  const unknown = [...request.query.keys()].filter(
    (name) => !described.some((parameter) => parameter.in === 'query' && parameter.name === name),
  )
  return [
    ...unknown.map((name) => `query parameter ${name} is not described`),
    ...described.flatMap((parameter) => {
      const value = parameter.in === 'path' ? path[parameter.name] : request.query.get(parameter.name)
      if (value === undefined || value === null) {
        return parameter.required ? [`${parameter.in} parameter ${parameter.name} is missing`] : []
      }
      return violations(validators.parameter(parameter.schema), `parameter ${parameter.name}`, {
        value: decodeURIComponent(value),
      })
    }),
  ]
}

const answerViolations = (
  validators: Validators,
  operation: Operation,
  answer: Answer,
): readonly string[] => {
  const described = operation.responses[String(answer.status)]
  if (described !== undefined) {
    return bodyViolations(validators, `answer ${answer.status}`, described, answer.body)
  }
  // GitHub describes few of its refusals, but every success.
  return answer.status < 300 ? [`answer ${answer.status} is not described`] : []
}

const bodyViolations = (
  validators: Validators,
  what: string,
  described: Content | undefined,
  bytes: Buffer | undefined,
): readonly string[] => {
  const schema = described?.content?.['application/json']?.schema
  if (schema === undefined) return []
  try {
    return violations(validators.body(schema), what, JSON.parse(bytes?.toString() ?? ''))
  } catch (error) {
    return [`${what}: ${String(error)}`]
  }
}

const violations = (validate: ValidateFunction, what: string, value: unknown): readonly string[] =>
  validate(value)
    ? []
    : (validate.errors ?? []).map((error) => `${what}${error.instancePath} ${error.message ?? ''}`)
