// Written by Scripts/openapi from Documentation/openapi.json.

extension OpenAPIDocument {
  static let end =
    #"""
    s data, and a comment every 15 s. It ends after 15 minutes.","content":{"application/json":\#
    {"schema":{"$ref":"#/components/schemas/Events"}},"text/event-stream":{"schema":{"type":"st\#
    ring"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/re\#
    sponses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref":"#/c\#
    omponents/responses/MethodNotAllowed"},"410":{"$ref":"#/components/responses/Gone"},"413":{\#
    "$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLo\#
    ng"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/respon\#
    ses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/compon\#
    ents/responses/Unavailable"}}}},"/v1/content-grants":{"post":{"operationId":"grantContent",\#
    "tags":["content"],"summary":"Get the URLs of purchased contents","description":"403: a con\#
    tent is not in a purchase in the state purchased. 404: the version is not offered any more.\#
     Scope: content.","requestBody":{"required":true,"content":{"application/json":{"schema":{"\#
    $ref":"#/components/schemas/GrantRequest"}}}},"responses":{"200":{"description":"The packag\#
    e and the index of each content, at every content URL. No files if the packages are public.\#
    ","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Grants"}}}},"400":{\#
    "$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthori\#
    zed"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/respons\#
    es/NotFound"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/com\#
    ponents/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"415":{"\#
    $ref":"#/components/responses/UnsupportedType"},"431":{"$ref":"#/components/responses/HeadT\#
    ooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/respons\#
    es/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/internal/autho\#
    rize":{"get":{"operationId":"authorize","tags":["content"],"summary":"Decide about a reques\#
    t of the content host","description":"For nginx's module auth_request. Only the grant in th\#
    e URL counts; Authorization is ignored.","security":[],"parameters":[{"name":"X-Original-UR\#
    I","in":"header","description":"The request target of the client, `$request_uri`.","schema"\#
    :{"type":"string"}}],"responses":{"204":{"description":"The request is allowed.","headers":\#
    {"Cache-Control":{"required":true,"schema":{"type":"string","pattern":"^max-age=[0-9]{1,2}$\#
    "}}}},"401":{"description":"The URL has no grant.","headers":{"WWW-Authenticate":{"required\#
    ":true,"schema":{"type":"string","const":"Grant"}}}},"403":{"description":"The grant is inv\#
    alid or has expired, or the path is ambiguous."},"400":{"$ref":"#/components/responses/BadR\#
    equest"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/componen\#
    ts/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref"\#
    :"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501"\#
    :{"$ref":"#/components/responses/NotImplemented"}}}},"/healthz":{"get":{"operationId":"read\#
    Health","tags":["server"],"summary":"Check that the process lives","security":[],"responses\#
    ":{"200":{"description":"It lives.","content":{"application/json":{"schema":{"type":"object\#
    ","required":["status"],"properties":{"status":{"const":"ok"}}}}}},"400":{"$ref":"#/compone\#
    nts/responses/BadRequest"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{\#
    "$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLo\#
    ng"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/respon\#
    ses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"}}}},"/readyz":{"get":{"o\#
    perationId":"readReadiness","tags":["server"],"summary":"Check that the ledger and the cata\#
    log can be read","security":[],"responses":{"200":{"description":"Both can be read.","conte\#
    nt":{"application/json":{"schema":{"type":"object","required":["status"],"properties":{"sta\#
    tus":{"const":"ready"}}}}}},"400":{"$ref":"#/components/responses/BadRequest"},"405":{"$ref\#
    ":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge\#
    "},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/respon\#
    ses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/component\#
    s/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/op\#
    enapi.json":{"get":{"operationId":"readDescription","tags":["server"],"summary":"Read this \#
    document","security":[],"responses":{"200":{"description":"An OpenAPI document.","content":\#
    {"application/json":{"schema":{"type":"object","required":["openapi","info","paths"]}}}},"4\#
    00":{"$ref":"#/components/responses/BadRequest"},"405":{"$ref":"#/components/responses/Meth\#
    odNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components\#
    /responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref\#
    ":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"}}}\#
    }},"components":{"securitySchemes":{"bearer":{"type":"http","scheme":"bearer","description"\#
    :"An opaque token (`hct_` and 43 characters), or a JWT (ES256 or EdDSA) with kid, iss = kid\#
    , aud = the server's origin, exp at most 15 minutes ahead, jti, and optionally sub = the on\#
    ly account that it can use."}},"parameters":{"Transaction":{"name":"transaction","in":"path\#
    ","required":true,"description":"A slash is escaped as %2F.","schema":{"$ref":"#/components\#
    /schemas/Transaction"}},"Account":{"name":"account","in":"path","required":true,"descriptio\#
    n":"At most 256 bytes; `-` is the caller's own account. A slash is escaped as %2F.","schema\#
    ":{"type":"string","pattern":"^([ -~]{1,256}|[^\\u0000-\\u001F\\u007F]{1,64})$"}},"IfNoneMa\#
    tch":{"name":"If-None-Match","in":"header","schema":{"type":"string"}}},"headers":{"Allow":\#
    {"description":"The methods of the path.","required":true,"schema":{"type":"string"}},"ETag\#
    ":{"description":"A strong entity tag.","schema":{"type":"string","pattern":"^\"[!-~]+\"$"}\#
    },"Link":{"description":"The next page.","schema":{"type":"string","pattern":"^</v1/product\#
    s\\?cursor=[A-Za-z0-9._-]+>; rel=\"next\"$"}},"RetryAfter":{"description":"Seconds to wait.\#
    ","schema":{"type":"string","pattern":"^[0-9]+$"}}},"responses":{"BadRequest":{"description\#
    ":"The request is invalid.","content":{"application/problem+json":{"schema":{"$ref":"#/comp\#
    onents/schemas/Problem"}}}},"Unauthorized":{"description":"The token or JWT is missing, inv\#
    alid, expired or revoked.","headers":{"WWW-Authenticate":{"required":true,"schema":{"type":\#
    "string","const":"Bearer"}}},"content":{"application/problem+json":{"schema":{"$ref":"#/com\#
    ponents/schemas/Problem"}}}},"Forbidden":{"description":"The caller may not do this.","cont\#
    ent":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"NotF\#
    ound":{"description":"Not found.","content":{"application/problem+json":{"schema":{"$ref":"\#
    #/components/schemas/Problem"}}}},"Conflict":{"description":"The change is not possible now\#
    ; `state` is the state of the purchase.","headers":{"Retry-After":{"$ref":"#/components/hea\#
    ders/RetryAfter"}},"content":{"application/problem+json":{"schema":{"$ref":"#/components/sc\#
    hemas/Problem"}}}},"MethodNotAllowed":{"description":"The path does not support the method.\#
    ","headers":{"Allow":{"$ref":"#/components/headers/Allow"}},"content":{"application/problem\#
    +json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"Gone":{"description":"The even\#
    ts after the cursor are not available.","content":{"application/problem+json":{"schema":{"$\#
    ref":"#/components/schemas/Problem"}}}},"TooLarge":{"description":"The body is too large.",\#
    "content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},\#
    "TargetTooLong":{"description":"The request target is too long.","content":{"application/pr\#
    oblem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"UnsupportedType":{"descri\#
    ption":"The body is not declared as JSON.","content":{"application/problem+json":{"schema":\#
    {"$ref":"#/components/schemas/Problem"}}}},"OtherRequest":{"description":"The transaction i\#
    dentifier was used for a different request.","content":{"application/problem+json":{"schema\#
    ":{"$ref":"#/components/schemas/Problem"}}}},"HeadTooLong":{"description":"The request targ\#
    et and the header fields are too long.","content":{"application/problem+json":{"schema":{"$\#
    ref":"#/components/schemas/Problem"}}}},"Failed":{"description":"The server has an internal\#
     error.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Prob\#
    lem"}}}},"NotImplemented":{"description":"The body has a transfer coding other than chunked\#
    .","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}\#
    }},"Unavailable":{"description":"The server cannot process the request now.","headers":{"Re\#
    try-After":{"description":"Seconds to wait.","required":true,"schema":{"type":"string","pat\#
    tern":"^[0-9]+$"}}},"content":{"application/problem+json":{"schema":{"$ref":"#/components/s\#
    chemas/Problem"}}}}},"schemas":{"Problem":{"type":"object","required":["type","title","stat\#
    us","detail","code","remedy"],"properties":{"type":{"const":"about:blank"},"title":{"type":\#
    "string"},"status":{"type":"integer","minimum":400,"maximum":599},"detail":{"type":"string"\#
    },"code":{"type":"integer","description":"The number of the error in this project."},"remed\#
    y":{"type":"string"},"subject":{"type":"string"},"state":{"$ref":"#/components/schemas/Stat\#
    e"}}},"Identifier":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$","not":{"\#
    const":"CACHEDIR.TAG"}},"Version":{"type":"string","maxLength":200,"pattern":"^[0-9]{1,18}(\#
    \\.[0-9]{1,18}){0,15}$"},"Transaction":{"type":"string","pattern":"^[!-~]{1,128}$"},"Accoun\#
    tName":{"type":["string","null"],"pattern":"^([ -~]{1,256}|[^\\u0000-\\u001F\\u007F]{1,64})\#
    $","description":"An opaque name of at most 256 bytes. Missing or `-`: the caller's own acc\#
    ount. Names that begin with `key-` are reserved."},"Cursor":{"type":"string","maxLength":12\#
    8,"description":"Opaque.","pattern":"^([!-\\-/-~]{1,64}\\.(0|[1-9][0-9]{0,17}))?$"},"State"\#
    :{"enum":["deferred","purchased","failed","refunded","revoked"]},"Content":{"type":"object"\#
    ,"required":["contentIdentifier","version"],"properties":{"contentIdentifier":{"$ref":"#/co\#
    mponents/schemas/Identifier"},"version":{"$ref":"#/components/schemas/Version"}}},"NewPurch\#
    ase":{"type":"object","additionalProperties":false,"required":["productIdentifier"],"proper\#
    ties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier"},"account":{"$ref":"#/\#
    components/schemas/AccountName"},"quantity":{"type":["integer","null"],"minimum":1,"maximum\#
    ":10,"default":1},"askToBuy":{"type":["boolean","null"],"default":false,"description":"Defe\#
    rs the purchase until an administrator approves or declines it."},"voucher":{"type":["strin\#
    g","null"],"pattern":"^([ -~]{0,256}|[^\\u0000-\\u001F\\u007F]{0,64})$","description":"A co\#
    de that pays for the product, if the server sells by vouchers."}}},"Batch":{"type":"object"\#
    ,"additionalProperties":false,"required":["purchases"],"properties":{"purchases":{"type":"a\#
    rray","minItems":1,"maxItems":64,"items":{"anyOf":[{"type":"object","additionalProperties":\#
    false,"required":["transactionIdentifier","productIdentifier"],"properties":{"transactionId\#
    entifier":{"$ref":"#/components/schemas/Transaction"},"productIdentifier":{"$ref":"#/compon\#
    ents/schemas/Identifier"},"account":{"$ref":"#/components/schemas/AccountName"},"quantity":\#
    {"type":["integer","null"],"minimum":1,"maximum":10,"default":1},"askToBuy":{"type":["boole\#
    an","null"],"default":false,"description":"Defers the purchase until an administrator appro\#
    ves or declines it."},"voucher":{"type":["string","null"],"pattern":"^([ -~]{0,256}|[^\\u00\#
    00-\\u001F\\u007F]{0,64})$","description":"A code that pays for the product, if the server \#
    sells by vouchers."}}},{"description":"Anything else gets a problem as its result."}]}}}},"\#
    BatchResults":{"type":"object","required":["results"],"properties":{"results":{"type":"arra\#
    y","minItems":1,"maxItems":64,"items":{"oneOf":[{"type":"object","required":["status","purc\#
    hase"],"properties":{"status":{"enum":[200,201]},"purchase":{"$ref":"#/components/schemas/P\#
    urchase"}}},{"type":"object","required":["status","problem"],"properties":{"status":{"type"\#
    :"integer","minimum":400,"maximum":599},"problem":{"$ref":"#/components/schemas/Problem"}}}\#
    ]}}}},"Purchase":{"type":"object","required":["transactionIdentifier","productIdentifier","\#
    account","quantity","state","purchaseDate","receipt","contents","isRestorable","isFinished"\#
    ,"revision"],"properties":{"transactionIdentifier":{"type":"string"},"productIdentifier":{"\#
    $ref":"#/components/schemas/Identifier"},"account":{"type":["string","null"]},"quantity":{"\#
    type":"integer","minimum":1,"maximum":10},"state":{"$ref":"#/components/schemas/State"},"pu\#
    rchaseDate":{"type":"string","format":"date-time"},"receipt":{"type":["string","null"],"des\#
    cription":"A signed receipt (JWS); null before the purchase."},"contents":{"type":"array","\#
    items":{"$ref":"#/components/schemas/Content"}},"isRestorable":{"type":"boolean"},"isFinish\#
    ed":{"type":"boolean"},"revision":{"type":"integer","format":"int64"},"isInterrupted":{"con\#
    st":true,"description":"It failed because the buyer must first do something at the seller."\#
    },"reason":{"type":"string"},"revocationDate":{"type":"string","format":"date-time"}}},"Pur\#
    chases":{"type":"object","required":["transactions","revision","hasMore"],"properties":{"tr\#
    ansactions":{"type":"array","maxItems":1000,"items":{"$ref":"#/components/schemas/Purchase"\#
    }},"revision":{"type":"integer","format":"int64","description":"`since` of the next request\#
    ."},"hasMore":{"type":"boolean"}}},"Change":{"type":"object","additionalProperties":false,"\#
    properties":{"reason":{"type":["string","null"],"description":"At most 1,000 bytes; the buy\#
    er sees it.","pattern":"^([ -~]{0,1000}|[^\\u0000-\\u001F\\u007F]{0,250})$"}}},"Event":{"ty\#
    pe":"object","required":["cursor","kind","account","transaction","at","purchase"],"properti\#
    es":{"cursor":{"$ref":"#/components/schemas/Cursor"},"kind":{"enum":["purchased","decided",\#
    "refunded","revoked","reversed","published"],"description":"Other kinds may be added."},"wa\#
    sInterrupted":{"type":"boolean","description":"Whether a decided purchase had failed before\#
    ."},"account":{"type":["string","null"]},"transaction":{"type":["string","null"]},"at":{"ty\#
    pe":"string","format":"date-time"},"purchase":{"oneOf":[{"$ref":"#/components/schemas/Purch\#
    ase"},{"type":"null"}]}}},"Events":{"type":"object","required":["events","cursor"],"propert\#
    ies":{"events":{"type":"array","maxItems":200,"items":{"$ref":"#/components/schemas/Event"}\#
    },"cursor":{"$ref":"#/components/schemas/Cursor"}}},"GrantRequest":{"type":"object","additi\#
    onalProperties":false,"required":["contents"],"description":"Of an account, or of one trans\#
    action.","properties":{"transaction":{"type":["string","null"],"pattern":"^[!-~]{1,128}$"},\#
    "account":{"$ref":"#/components/schemas/AccountName"},"contents":{"type":"array","minItems"\#
    :1,"maxItems":64,"items":{"type":"object","additionalProperties":false,"required":["content\#
    Identifier","version"],"properties":{"contentIdentifier":{"$ref":"#/components/schemas/Iden\#
    tifier"},"version":{"$ref":"#/components/schemas/Version"}}}}},"not":{"required":["transact\#
    ion","account"],"properties":{"transaction":{"type":"string"},"account":{"type":"string"}}}\#
    },"Grants":{"type":"object","required":["expires","files"],"properties":{"expires":{"type":\#
    "string","format":"date-time"},"files":{"type":"array","maxItems":128,"items":{"type":"obje\#
    ct","required":["target","urls"],"properties":{"target":{"type":"string","description":"The\#
     path of the file below the store."},"urls":{"type":"array","items":{"type":"string","forma\#
    t":"uri"},"description":"Secret until they expire."}}}}}},"Products":{"type":"object","requ\#
    ired":["products","invalid","failures","version"],"properties":{"products":{"type":"array",\#
    "maxItems":200,"items":{"$ref":"#/components/schemas/Product"}},"invalid":{"type":"array","\#
    items":{"type":"string"}},"failures":{"type":"array","items":{"$ref":"#/components/schemas/\#
    Failure"}},"version":{"type":"string","description":"The version of the catalog."}}},"Failu\#
    re":{"type":"object","required":["code","message","remedy","subject"],"properties":{"code":\#
    {"type":"integer"},"message":{"type":"string"},"remedy":{"type":"string"},"subject":{"type"\#
    :["string","null"]}}},"Product":{"type":"object","required":["productIdentifier","type","te\#
    xts","contents"],"properties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier\#
    "},"type":{"enum":["non-consumable","consumable","auto-renewable","non-renewing"]},"texts":\#
    {"type":"object","description":"By language (BCP 47).","additionalProperties":{"type":"obje\#
    ct","required":["title","description"],"properties":{"title":{"type":"string"},"description\#
    ":{"type":"string"},"releaseNotes":{"type":"string"}}}},"price":{"type":"string","pattern":\#
    "^[0-9]+(\\.[0-9]+)?$"},"currency":{"type":"string"},"contents":{"type":"array","items":{"$\#
    ref":"#/components/schemas/Offer"}},"withdrawnVersions":{"type":"object","additionalPropert\#
    ies":{"type":"array","items":{"$ref":"#/components/schemas/Version"}}}}},"Offer":{"type":"o\#
    bject","required":["productIdentifier","contentIdentifier","version","installedSize","packa\#
    ge","index"],"properties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier"},"\#
    contentIdentifier":{"$ref":"#/components/schemas/Identifier"},"version":{"$ref":"#/componen\#
    ts/schemas/Version"},"installedSize":{"type":"integer","minimum":0},"package":{"$ref":"#/co\#
    mponents/schemas/File"},"index":{"$ref":"#/components/schemas/File"},"signers":{"type":"str\#
    ing"},"withdrawnVersions":{"type":"array","items":{"$ref":"#/components/schemas/Version"}}}\#
    },"File":{"type":"object","required":["path","length","digest"],"properties":{"path":{"type\#
    ":"string"},"length":{"type":"integer","minimum":0},"digest":{"type":"string","pattern":"^[\#
    0-9a-f]{64}$"}}}}}}
    """#
}
