import { Token } from 'aws-cdk-lib';

/** A value of a template, in the form of JSON. Strings and lists may hold tokens of the CDK. */
export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

type Values = { [name: string]: Value };

/** A parameter as the template describes it. */
export interface Parameter {
  readonly Type: string;
  readonly Default?: string | number;
  readonly AllowedValues?: (string | number)[];
  readonly AllowedPattern?: string;
  readonly MinLength?: number;
  readonly MaxLength?: number;
  readonly MinValue?: number;
  readonly MaxValue?: number;
}

interface Rule {
  readonly RuleCondition?: Value;
  readonly Assertions: { Assert: Value; AssertDescription: string }[];
}

/** What the SAM translator makes of template.yaml (template.json). */
export interface Template {
  readonly Description: string;
  readonly Parameters: { [name: string]: Parameter };
  readonly Rules: { [name: string]: Rule };
  readonly Mappings: { [name: string]: Values };
  readonly Conditions: Values;
  readonly Resources: { [id: string]: Resource };
  readonly Outputs: { [name: string]: { Condition?: string; Description: string; Value: Value } };
}

/** A resource of the template. */
export type Resource = { Type: string; Condition?: string; Properties?: Values; [attribute: string]: Value | undefined };

/** AWS::NoValue: the member or element is left out. */
const none = Symbol('AWS::NoValue');

type Evaluated = Value | typeof none;

const isToken = (v: Value | undefined): boolean => Token.isUnresolved(v);

/**
 * Puts the values of parameters into the template and decides its conditions, so that only
 * references between resources are left. CloudFormation can't do that itself when a parameter is an
 * attribute of another resource of the app: its conditions may not refer to resources.
 */
export class Resolver {
  private readonly values: Values = {};

  constructor(private readonly template: Template, given: { [parameter: string]: Value | undefined }) {
    for (const [name, parameter] of Object.entries(template.Parameters)) {
      const value = given[name];
      if (value !== undefined) {
        check(name, parameter, value);
      }
      this.values[name] = value ?? byDefault(name, parameter);
    }
    this.checkRules();
  }

  /** The resources that these parameters ask for. */
  resources(): { [id: string]: Resource } {
    const out: { [id: string]: Resource } = {};
    for (const [id, { Condition, ...resource }] of Object.entries(this.template.Resources)) {
      if (Condition === undefined || this.holds(Condition)) {
        out[id] = this.resolve(resource as Values) as Resource;
      }
    }
    return out;
  }

  /** The outputs of these resources. */
  outputs(): { [name: string]: { Description: string; Value: Value } } {
    const out: { [name: string]: { Description: string; Value: Value } } = {};
    for (const [name, { Condition, Description, Value }] of Object.entries(this.template.Outputs)) {
      if (Condition === undefined || this.holds(Condition)) {
        out[name] = { Description, Value: this.resolve(Value) };
      }
    }
    return out;
  }

  private checkRules(): void {
    for (const rule of Object.values(this.template.Rules)) {
      if (rule.RuleCondition !== undefined && !this.test(rule.RuleCondition)) {
        continue;
      }
      for (const { Assert, AssertDescription } of rule.Assertions) {
        if (!this.test(Assert)) {
          throw new Error(AssertDescription);
        }
      }
    }
  }

  private holds(condition: string): boolean {
    if (!(condition in this.template.Conditions)) {
      throw new Error(`the template has no condition ${condition}`);
    }
    return this.test(this.template.Conditions[condition]);
  }

  private test(condition: Value): boolean {
    const [name, argument] = call(condition) ?? fail(`not a condition: ${JSON.stringify(condition)}`);
    const parts = argument as Value[];
    switch (name) {
      case 'Condition':
        return this.holds(argument as string);
      case 'Fn::Not':
        return !this.test(parts[0]);
      case 'Fn::And':
        return parts.every((part) => this.test(part));
      case 'Fn::Or':
        return parts.some((part) => this.test(part));
      case 'Fn::Equals':
        return equal(this.resolve(parts[0]), this.resolve(parts[1]));
    }
    throw new Error(`the construct doesn't know the condition function ${name}`);
  }

  /** A value with parameters, conditions and mappings replaced; null for AWS::NoValue. */
  resolve(v: Value): Value {
    const value = this.evaluate(v);
    return value === none ? null : value;
  }

  private evaluate(v: Value): Evaluated {
    if (Array.isArray(v)) {
      return v.map((element) => this.evaluate(element)).filter((element) => element !== none) as Value[];
    }
    if (v === null || typeof v !== 'object') {
      return v;
    }
    const [name, argument] = call(v) ?? [];
    switch (name) {
      case 'Ref':
        return this.ref(v, argument as string);
      case 'Fn::If': {
        const [condition, yes, no] = argument as [string, Value, Value];
        return this.evaluate(this.holds(condition) ? yes : no);
      }
      case 'Fn::FindInMap': {
        const [mapping, first, second] = this.resolve(argument as Value) as string[];
        return (this.template.Mappings[mapping][first] as Values)[second];
      }
      case 'Fn::Join': {
        const [separator, elements] = this.resolve(argument as Value) as [string, Value];
        return join(separator, elements);
      }
      case 'Fn::Sub':
        return this.sub(argument as Value);
    }
    const out: Values = {};
    for (const [member, of] of Object.entries(v)) {
      const value = this.evaluate(of);
      if (value !== none) {
        out[member] = value;
      }
    }
    return out;
  }

  private ref(v: Value, name: string): Evaluated {
    if (name === 'AWS::NoValue') {
      return none;
    }
    return name in this.values ? this.values[name] : v;
  }

  /** A text with ${references}, as a join: texts of callers, which may hold tokens, stay as they are. */
  private sub(argument: Value): Value {
    const [text, own] = (Array.isArray(argument) ? argument : [argument, {}]) as [string, Values];
    const parts: Value[] = [];
    let end = 0;
    for (const found of text.matchAll(/\$\{(!?)([^}]+)\}/g)) {
      parts.push(text.slice(end, found.index));
      end = found.index + found[0].length;
      parts.push(found[1] ? '${' + found[2] + '}' : this.named(found[2], own));
    }
    parts.push(text.slice(end));
    return join('', parts.filter((part) => part !== ''));
  }

  private named(name: string, own: Values): Value {
    if (name in own) {
      return this.resolve(own[name]);
    }
    const dot = name.indexOf('.');
    return dot < 0 ? this.resolve({ Ref: name }) : { 'Fn::GetAtt': [name.slice(0, dot), name.slice(dot + 1)] };
  }
}

/** The function and its argument, if a value is a call of one. */
function call(v: Value): [string, Value] | undefined {
  if (v === null || typeof v !== 'object' || Array.isArray(v)) {
    return undefined;
  }
  const members = Object.entries(v);
  const one = members.length === 1 && (members[0][0].startsWith('Fn::') || ['Ref', 'Condition'].includes(members[0][0]));
  return one ? members[0] : undefined;
}

function fail(problem: string): never {
  throw new Error(problem);
}

/** Whether two values are the same. A token is only known not to be empty. */
function equal(a: Value, b: Value): boolean {
  if (known(a) && known(b)) {
    return String(a) === String(b);
  }
  if (a !== '' && b !== '') {
    throw new Error('a condition of the template compares a value that is only known when the stack is deployed');
  }
  return false;
}

/** Whether a value is text or a number that synthesis knows. */
function known(v: Value): boolean {
  return !isToken(v) && (v === null || typeof v !== 'object');
}

/** Joins elements; those that are known become one text, and the others stay in Fn::Join. */
function join(separator: string, elements: Value): Value {
  if (!Array.isArray(elements) || isToken(elements)) {
    return { 'Fn::Join': [separator, elements] };
  }
  if (elements.every(known)) {
    return elements.join(separator);
  }
  return { 'Fn::Join': [separator, elements] };
}

function byDefault(name: string, { Default, Type }: Parameter): Value {
  if (Default === undefined) {
    throw new Error(`${name} needs a value`);
  }
  return Type === 'CommaDelimitedList' ? String(Default).split(',').map((part) => part.trim()) : Default;
}

/** Checks what the template says of a parameter, which CloudFormation would find out much later. */
function check(name: string, parameter: Parameter, value: Value): void {
  if (isToken(value)) {
    if (parameter.AllowedValues || parameter.Type === 'Number') {
      throw new Error(`${name} must be known when the app is synthesized, because it decides what is deployed`);
    }
    return;
  }
  if (parameter.Type === 'CommaDelimitedList') {
    for (const element of value as Value[]) {
      isToken(element) || checkOne(name, parameter, element as string);
    }
    return;
  }
  checkOne(name, parameter, value as string | number);
}

function checkOne(name: string, p: Parameter, value: string | number): void {
  const text = String(value);
  const wrong = (problem: string) => fail(`${name} is ${JSON.stringify(value)}; ${problem}`);
  if (p.AllowedValues && !p.AllowedValues.map(String).includes(text)) {
    wrong(`use one of ${p.AllowedValues.join(', ')}`);
  }
  if (p.AllowedPattern && !new RegExp(`^(?:${p.AllowedPattern})$`).test(text)) {
    wrong(`it must match ${p.AllowedPattern}`);
  }
  if (text.length < (p.MinLength ?? 0) || text.length > (p.MaxLength ?? Infinity)) {
    wrong(`it must have ${p.MinLength ?? 0} to ${p.MaxLength ?? 'any number of'} characters`);
  }
  if (p.Type === 'Number' && !(Number(value) >= (p.MinValue ?? -Infinity) && Number(value) <= (p.MaxValue ?? Infinity))) {
    wrong(`it must be from ${p.MinValue ?? 'any'} to ${p.MaxValue ?? 'any'}`);
  }
}
