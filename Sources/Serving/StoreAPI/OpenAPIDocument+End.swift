// Written by Scripts/openapi from Documentation/openapi.json.

extension OpenAPIDocument {
  static let end =
    #"""
    y 15 s. It ends after 15 minutes.","content":{"application/json":{"schema":{"$ref":"#/compo\#
    nents/schemas/Events"}},"text/event-stream":{"schema":{"type":"string"}}}},"400":{"$ref":"#\#
    /components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"40\#
    3":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref":"#/components/responses/Method\#
    NotAllowed"},"410":{"$ref":"#/components/responses/Gone"},"413":{"$ref":"#/components/respo\#
    nses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/comp\#
    onents/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref"\#
    :"#/components/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable\#
    "}}}},"/v1/content-grants":{"post":{"operationId":"grantContent","tags":["content"],"summar\#
    y":"Get the URLs of purchased contents","description":"403: a content is not in a purchase \#
    in the state purchased. 404: the version is not offered any more. Scope: content.","request\#
    Body":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schema\#
    s/GrantRequest"}}}},"responses":{"200":{"description":"The package and the index of each co\#
    ntent, at every content URL. No files if the packages are public.","content":{"application/\#
    json":{"schema":{"$ref":"#/components/schemas/Grants"}}}},"400":{"$ref":"#/components/respo\#
    nses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/com\#
    ponents/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref\#
    ":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge\#
    "},"414":{"$ref":"#/components/responses/TargetTooLong"},"415":{"$ref":"#/components/respon\#
    ses/UnsupportedType"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/\#
    components/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":\#
    {"$ref":"#/components/responses/Unavailable"}}}},"/internal/authorize":{"get":{"operationId\#
    ":"authorize","tags":["content"],"summary":"Decide about a request of the content host","de\#
    scription":"For nginx's module auth_request. Only the grant in the URL counts; Authorizatio\#
    n is ignored.","security":[],"parameters":[{"name":"X-Original-URI","in":"header","descript\#
    ion":"The request target of the client, `$request_uri`.","schema":{"type":"string"}}],"resp\#
    onses":{"204":{"description":"The request is allowed.","headers":{"Cache-Control":{"require\#
    d":true,"schema":{"type":"string","pattern":"^max-age=[0-9]{1,2}$"}}}},"401":{"description"\#
    :"The URL has no grant.","headers":{"WWW-Authenticate":{"required":true,"schema":{"type":"s\#
    tring","const":"Grant"}}}},"403":{"description":"The grant is invalid or has expired, or th\#
    e path is ambiguous."},"400":{"$ref":"#/components/responses/BadRequest"},"405":{"$ref":"#/\#
    components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"4\#
    14":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/H\#
    eadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/res\#
    ponses/NotImplemented"}}}},"/healthz":{"get":{"operationId":"readHealth","tags":["server"],\#
    "summary":"Check that the process lives","security":[],"responses":{"200":{"description":"I\#
    t lives.","content":{"application/json":{"schema":{"type":"object","required":["status"],"p\#
    roperties":{"status":{"const":"ok"}}}}}},"400":{"$ref":"#/components/responses/BadRequest"}\#
    ,"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/respo\#
    nses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/comp\#
    onents/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref"\#
    :"#/components/responses/NotImplemented"}}}},"/readyz":{"get":{"operationId":"readReadiness\#
    ","tags":["server"],"summary":"Check that the ledger and the catalog can be read","security\#
    ":[],"responses":{"200":{"description":"Both can be read.","content":{"application/json":{"\#
    schema":{"type":"object","required":["status"],"properties":{"status":{"const":"ready"}}}}}\#
    },"400":{"$ref":"#/components/responses/BadRequest"},"405":{"$ref":"#/components/responses/\#
    MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/compon\#
    ents/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"\#
    $ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented\#
    "},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/openapi.json":{"get":{"opera\#
    tionId":"readDescription","tags":["server"],"summary":"Read this document","security":[],"r\#
    esponses":{"200":{"description":"An OpenAPI document.","content":{"application/json":{"sche\#
    ma":{"type":"object","required":["openapi","info","paths"]}}}},"400":{"$ref":"#/components/\#
    responses/BadRequest"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$re\#
    f":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"}\#
    ,"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/\#
    Failed"},"501":{"$ref":"#/components/responses/NotImplemented"}}}}},"components":{"security\#
    Schemes":{"bearer":{"type":"http","scheme":"bearer","description":"An opaque token (`hct_` \#
    and 43 characters), or a JWT (ES256 or EdDSA) with kid, iss = kid, aud = the server's origi\#
    n, exp at most 15 minutes ahead, jti, and optionally sub = the only account that it can use\#
    ."}},"parameters":{"Transaction":{"name":"transaction","in":"path","required":true,"descrip\#
    tion":"A slash is escaped as %2F; `.` and `..` are invalid.","schema":{"$ref":"#/components\#
    /schemas/Transaction"}},"Account":{"name":"account","in":"path","required":true,"descriptio\#
    n":"At most 256 bytes; `-` is the caller's own account. A slash is escaped as %2F; `.` and \#
    `..` are invalid.","schema":{"type":"string","pattern":"^([ -~]{1,256}|[^\\u0000-\\u001F\\u\#
    007F]{1,64})$","not":{"enum":[".",".."]}}},"IfNoneMatch":{"name":"If-None-Match","in":"head\#
    er","schema":{"type":"string"}}},"headers":{"Allow":{"description":"The methods of the path\#
    .","required":true,"schema":{"type":"string"}},"ETag":{"description":"A strong entity tag."\#
    ,"schema":{"type":"string","pattern":"^\"[!-~]+\"$"}},"Link":{"description":"The next page.\#
    ","schema":{"type":"string","pattern":"^</v1/products\\?(cursor|id)=[A-Za-z0-9._~%&=-]+>; r\#
    el=\"next\"$"}},"RetryAfter":{"description":"Seconds to wait.","schema":{"type":"string","p\#
    attern":"^[0-9]+$"}}},"responses":{"BadRequest":{"description":"The request is invalid.","c\#
    ontent":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"U\#
    nauthorized":{"description":"The token or JWT is missing, invalid, expired or revoked.","he\#
    aders":{"WWW-Authenticate":{"required":true,"schema":{"type":"string","const":"Bearer"}}},"\#
    content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"\#
    Forbidden":{"description":"The caller may not do this.","content":{"application/problem+jso\#
    n":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"NotFound":{"description":"Not foun\#
    d.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}\#
    }}},"Conflict":{"description":"The change is not possible now; `state` is the state of the \#
    purchase.","headers":{"Retry-After":{"$ref":"#/components/headers/RetryAfter"}},"content":{\#
    "application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"MethodNotA\#
    llowed":{"description":"The path does not support the method.","headers":{"Allow":{"$ref":"\#
    #/components/headers/Allow"}},"content":{"application/problem+json":{"schema":{"$ref":"#/co\#
    mponents/schemas/Problem"}}}},"Gone":{"description":"The events after the cursor are not av\#
    ailable.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Pro\#
    blem"}}}},"TooLarge":{"description":"The body is too large.","content":{"application/proble\#
    m+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"TargetTooLong":{"description"\#
    :"The request target is too long.","content":{"application/problem+json":{"schema":{"$ref":\#
    "#/components/schemas/Problem"}}}},"UnsupportedType":{"description":"The body is not declar\#
    ed as JSON.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/\#
    Problem"}}}},"OtherRequest":{"description":"The transaction identifier was used for a diffe\#
    rent request.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schema\#
    s/Problem"}}}},"HeadTooLong":{"description":"The request target and the header fields are t\#
    oo long.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Pro\#
    blem"}}}},"Failed":{"description":"The server has an internal error.","content":{"applicati\#
    on/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"NotImplemented":{"de\#
    scription":"The body has a transfer coding other than chunked.","content":{"application/pro\#
    blem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"Unavailable":{"description\#
    ":"The server cannot process the request now.","headers":{"Retry-After":{"description":"Sec\#
    onds to wait.","required":true,"schema":{"type":"string","pattern":"^[0-9]+$"}}},"content":\#
    {"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}}},"schemas"\#
    :{"Problem":{"type":"object","required":["type","title","status","detail","code","remedy"],\#
    "properties":{"type":{"const":"about:blank"},"title":{"type":"string"},"status":{"type":"in\#
    teger","minimum":400,"maximum":599},"detail":{"type":"string"},"code":{"type":"integer","de\#
    scription":"The number of the error in this project."},"remedy":{"type":"string"},"subject"\#
    :{"type":"string"},"state":{"$ref":"#/components/schemas/State"}}},"Identifier":{"type":"st\#
    ring","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$","not":{"const":"CACHEDIR.TAG"}},"Versi\#
    on":{"type":"string","maxLength":200,"pattern":"^[0-9]{1,18}(\\.[0-9]{1,18}){0,15}$"},"Tran\#
    saction":{"type":"string","pattern":"^[!-~]{1,128}$","not":{"enum":[".",".."]}},"AccountNam\#
    e":{"type":["string","null"],"not":{"enum":[".",".."]},"pattern":"^([ -~]{1,256}|[^\\u0000-\#
    \\u001F\\u007F]{1,64})$","description":"An opaque name of at most 256 bytes. Missing or `-`\#
    : the caller's own account. Names that begin with `key-` are reserved."},"Cursor":{"type":"\#
    string","maxLength":128,"description":"Opaque.","pattern":"^([!-\\-/-~]{1,64}\\.(0|[1-9][0-\#
    9]{0,17}))?$"},"State":{"enum":["deferred","purchased","failed","refunded","revoked"]},"Con\#
    tent":{"type":"object","required":["contentIdentifier","version"],"properties":{"contentIde\#
    ntifier":{"$ref":"#/components/schemas/Identifier"},"version":{"$ref":"#/components/schemas\#
    /Version"}}},"NewPurchase":{"type":"object","additionalProperties":false,"required":["produ\#
    ctIdentifier"],"properties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier"}\#
    ,"account":{"$ref":"#/components/schemas/AccountName"},"quantity":{"type":["integer","null"\#
    ],"minimum":1,"maximum":10,"default":1},"askToBuy":{"type":["boolean","null"],"default":fal\#
    se,"description":"Defers the purchase until an administrator approves or declines it."},"vo\#
    ucher":{"type":["string","null"],"pattern":"^([ -~]{0,256}|[^\\u0000-\\u001F\\u007F]{0,64})\#
    $","description":"A code that pays for the product, if the server sells by vouchers."}}},"B\#
    atch":{"type":"object","additionalProperties":false,"required":["purchases"],"properties":{\#
    "purchases":{"type":"array","minItems":1,"maxItems":64,"items":{"anyOf":[{"type":"object","\#
    additionalProperties":false,"required":["transactionIdentifier","productIdentifier"],"prope\#
    rties":{"transactionIdentifier":{"$ref":"#/components/schemas/Transaction"},"productIdentif\#
    ier":{"$ref":"#/components/schemas/Identifier"},"account":{"$ref":"#/components/schemas/Acc\#
    ountName"},"quantity":{"type":["integer","null"],"minimum":1,"maximum":10,"default":1},"ask\#
    ToBuy":{"type":["boolean","null"],"default":false,"description":"Defers the purchase until \#
    an administrator approves or declines it."},"voucher":{"type":["string","null"],"pattern":"\#
    ^([ -~]{0,256}|[^\\u0000-\\u001F\\u007F]{0,64})$","description":"A code that pays for the p\#
    roduct, if the server sells by vouchers."}}},{"description":"Anything else gets a problem a\#
    s its result."}]}}}},"BatchResults":{"type":"object","required":["results"],"properties":{"\#
    results":{"type":"array","minItems":1,"maxItems":64,"items":{"oneOf":[{"type":"object","req\#
    uired":["status","purchase"],"properties":{"status":{"enum":[200,201]},"purchase":{"$ref":"\#
    #/components/schemas/Purchase"}}},{"type":"object","required":["status","problem"],"propert\#
    ies":{"status":{"type":"integer","minimum":400,"maximum":599},"problem":{"$ref":"#/componen\#
    ts/schemas/Problem"}}}]}}}},"Purchase":{"type":"object","required":["transactionIdentifier"\#
    ,"productIdentifier","account","quantity","state","purchaseDate","receipt","contents","isRe\#
    storable","isFinished","revision"],"properties":{"transactionIdentifier":{"type":"string"},\#
    "productIdentifier":{"$ref":"#/components/schemas/Identifier"},"account":{"type":["string",\#
    "null"]},"quantity":{"type":"integer","minimum":1,"maximum":10},"state":{"$ref":"#/componen\#
    ts/schemas/State"},"purchaseDate":{"type":"string","format":"date-time"},"receipt":{"type":\#
    ["string","null"],"description":"A signed receipt (JWS); null before the purchase, and afte\#
    r its account was erased."},"contents":{"type":"array","items":{"$ref":"#/components/schema\#
    s/Content"}},"isRestorable":{"type":"boolean"},"isFinished":{"type":"boolean"},"revision":{\#
    "type":"integer","format":"int64"},"isInterrupted":{"const":true,"description":"It failed b\#
    ecause the buyer must first do something at the seller."},"reason":{"type":"string"},"revoc\#
    ationDate":{"type":"string","format":"date-time"}}},"Purchases":{"type":"object","required"\#
    :["transactions","revision","hasMore"],"properties":{"transactions":{"type":"array","maxIte\#
    ms":1000,"items":{"$ref":"#/components/schemas/Purchase"}},"revision":{"type":"integer","fo\#
    rmat":"int64","description":"`since` of the next request."},"hasMore":{"type":"boolean"}}},\#
    "Change":{"type":"object","additionalProperties":false,"properties":{"reason":{"type":["str\#
    ing","null"],"description":"At most 1,000 bytes; the buyer sees it.","pattern":"^([ -~]{0,1\#
    000}|[^\\u0000-\\u001F\\u007F]{0,250})$"}}},"Event":{"type":"object","required":["cursor","\#
    kind","account","transaction","at","purchase"],"properties":{"cursor":{"$ref":"#/components\#
    /schemas/Cursor"},"kind":{"enum":["purchased","decided","refunded","revoked","reversed","pu\#
    blished"],"description":"Other kinds may be added."},"wasInterrupted":{"type":"boolean","de\#
    scription":"Whether a decided purchase had failed before."},"account":{"type":["string","nu\#
    ll"]},"transaction":{"type":["string","null"]},"at":{"type":"string","format":"date-time"},\#
    "purchase":{"oneOf":[{"$ref":"#/components/schemas/Purchase"},{"type":"null"}]}}},"Events":\#
    {"type":"object","required":["events","cursor"],"properties":{"events":{"type":"array","max\#
    Items":200,"items":{"$ref":"#/components/schemas/Event"}},"cursor":{"$ref":"#/components/sc\#
    hemas/Cursor"}}},"GrantRequest":{"type":"object","additionalProperties":false,"required":["\#
    contents"],"description":"Of an account, or of one transaction.","properties":{"transaction\#
    ":{"type":["string","null"],"pattern":"^[!-~]{1,128}$","not":{"enum":[".",".."]}},"account"\#
    :{"$ref":"#/components/schemas/AccountName"},"contents":{"type":"array","minItems":1,"maxIt\#
    ems":64,"items":{"type":"object","additionalProperties":false,"required":["contentIdentifie\#
    r","version"],"properties":{"contentIdentifier":{"$ref":"#/components/schemas/Identifier"},\#
    "version":{"$ref":"#/components/schemas/Version"}}}}},"not":{"required":["transaction","acc\#
    ount"],"properties":{"transaction":{"type":"string"},"account":{"type":"string"}}}},"Grants\#
    ":{"type":"object","required":["expires","files"],"properties":{"expires":{"type":"string",\#
    "format":"date-time"},"files":{"type":"array","maxItems":128,"items":{"type":"object","requ\#
    ired":["target","urls"],"properties":{"target":{"type":"string","description":"The path of \#
    the file below the store."},"urls":{"type":"array","items":{"type":"string","format":"uri"}\#
    ,"description":"Secret until they expire."}}}}}},"Products":{"type":"object","required":["p\#
    roducts","invalid","failures","version"],"properties":{"products":{"type":"array","maxItems\#
    ":200,"items":{"$ref":"#/components/schemas/Product"}},"invalid":{"type":"array","items":{"\#
    type":"string"}},"failures":{"type":"array","items":{"$ref":"#/components/schemas/Failure"}\#
    },"version":{"type":"string","description":"The version of the catalog."}}},"Failure":{"typ\#
    e":"object","required":["code","message","remedy","subject"],"properties":{"code":{"type":"\#
    integer"},"message":{"type":"string"},"remedy":{"type":"string"},"subject":{"type":["string\#
    ","null"]}}},"Product":{"type":"object","required":["productIdentifier","type","texts","con\#
    tents"],"properties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier"},"type"\#
    :{"enum":["non-consumable","consumable","auto-renewable","non-renewing"]},"texts":{"type":"\#
    object","description":"By language (BCP 47).","additionalProperties":{"type":"object","requ\#
    ired":["title","description"],"properties":{"title":{"type":"string"},"description":{"type"\#
    :"string"},"releaseNotes":{"type":"string"}}}},"price":{"type":"string","pattern":"^[0-9]+(\#
    \\.[0-9]+)?$"},"currency":{"type":"string"},"contents":{"type":"array","items":{"$ref":"#/c\#
    omponents/schemas/Offer"}},"withdrawnVersions":{"type":"object","additionalProperties":{"ty\#
    pe":"array","items":{"$ref":"#/components/schemas/Version"}}}}},"Offer":{"type":"object","r\#
    equired":["productIdentifier","contentIdentifier","version","installedSize","package","inde\#
    x"],"properties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier"},"contentId\#
    entifier":{"$ref":"#/components/schemas/Identifier"},"version":{"$ref":"#/components/schema\#
    s/Version"},"installedSize":{"type":"integer","minimum":0},"package":{"$ref":"#/components/\#
    schemas/File"},"index":{"$ref":"#/components/schemas/File"},"signers":{"type":"string"},"wi\#
    thdrawnVersions":{"type":"array","items":{"$ref":"#/components/schemas/Version"}}}},"File":\#
    {"type":"object","required":["path","length","digest"],"properties":{"path":{"type":"string\#
    "},"length":{"type":"integer","minimum":0},"digest":{"type":"string","pattern":"^[0-9a-f]{6\#
    4}$"}}}}}}
    """#
}
